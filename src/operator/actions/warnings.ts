/**
 * Warnings in the response to a push that was stored.
 *
 * @module
 */
import type { Client } from "../../client/client.ts";
import { unregisteredText } from "../../text/classes.ts";
import { list, optional } from "../shapes/shape.ts";
import { text } from "../shapes/values.ts";

/** Maximum number of warnings in a response. */
const MAX_WARNINGS = 20;

/** The shape of the warnings. */
export const WARNINGS = optional(
  list("one for each class that no worker has registered; absent without any", text("")),
);

/** The warnings of a response; absent without any. */
export interface Warnings {
  readonly warnings?: readonly string[];
}

/** Returns a warning for each class that was pushed and that no worker has registered: its name may be wrong. */
export function warningsOf(client: Client, classes: Iterable<string>): Warnings {
  const warnings: string[] = [];
  for (const name of new Set(classes)) {
    if (!client.isUnregistered(name)) continue;
    warnings.push(unregisteredText(name, "so its jobs wait until one does", client.meantBy(name)));
    if (warnings.length === MAX_WARNINGS) break;
  }
  return warnings.length === 0 ? {} : { warnings };
}
