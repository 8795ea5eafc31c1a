/**
 * The previous run of an entry, as another store has to know it when the entry is migrated.
 *
 * @module
 */
import { readDefinition, readState } from "./definition.ts";

/**
 * Returns the job of the latest run of an entry, and whether a run waits for its end. The job may have ended. Undefined if later
 * runs don't depend on it.
 */
export function previousRunOf(
  stored: { readonly name: string; readonly definition: string; readonly state: string },
): { readonly jid: string; readonly isAwaited: boolean } | undefined {
  const definition = readDefinition(stored);
  if (definition === undefined || definition.overlap === "allow") return undefined;
  const { last, waiting } = readState(stored.state, definition) ?? {};
  // A run that was skipped or waits names the job that blocked it. Missed runs name none.
  return last?.jid === undefined ? undefined : { jid: last.jid, isAwaited: waiting !== undefined };
}
