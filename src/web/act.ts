/**
 * Does the actions of visitors, for the API and the forms of pages.
 *
 * @module
 */
import { act } from "../operator/actions/act.ts";
import type { Action, ClientTools, EventKind, Progress } from "../operator/actions/action.ts";
import type { AuditEvent } from "../store/admin/audit.ts";
import { authorOf, recordAction } from "./audit.ts";
import type { Visitor } from "./auth/gate.ts";
import { pushBounds } from "./auth/push_scope.ts";
import type { Services } from "./services.ts";

/**
 * Does an action for a visitor. One on many jobs continues in the background if it takes long: then the output has only the part
 * that is known.
 *
 * @throws {InvalidInput}
 * @throws {Refused}
 */
export async function actFor<In, Out>(
  services: Services,
  visitor: Visitor,
  action: Action<In, Out, ClientTools>,
  raw: unknown,
  asked: Pick<ClientTools, "asOf"> = {},
): Promise<Out> {
  const record = (event: AuditEvent, kind: EventKind) => recordAction(services, visitor, event, kind);
  const bounds = (requests: readonly unknown[]) => pushBounds(services, visitor, requests);
  const tools: ClientTools = { ...services, ...asked, isRemote: true, record, bounds, ...scoped(visitor) };
  const author = authorOf(visitor);
  const label = action.label?.(action.takes.read(raw));
  if (label === undefined) return await act(tools, author, action, raw);
  const work = (show: (progress: Progress) => void) => {
    const progress = async (now: Progress) => {
      show(now);
      await services.clock.turn();
    };
    return act(tools, author, action, raw, { progress });
  };
  return await services.operations.run(label, work) as Out;
}

function scoped({ scope }: Visitor): Pick<ClientTools, "scope"> {
  return scope === undefined ? {} : { scope };
}
