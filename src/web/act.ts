/**
 * Does the actions of visitors, for the API and the forms of pages.
 *
 * @module
 */
import { act } from "../operator/actions/act.ts";
import type { Action, ClientTools } from "../operator/actions/action.ts";
import { authorOf, recordAction } from "./audit.ts";
import type { Visitor } from "./auth/gate.ts";
import type { Services } from "./services.ts";

/**
 * Does an action for a visitor.
 *
 * @throws {InvalidInput}
 * @throws {Refused}
 */
export function actFor<In, Out>(
  services: Services,
  visitor: Visitor,
  action: Action<In, Out, ClientTools>,
  raw: unknown,
): Promise<Out> {
  const tools: ClientTools = { ...services, record: (event, kind) => recordAction(services, visitor, event, kind) };
  return act(tools, authorOf(visitor), action, raw);
}
