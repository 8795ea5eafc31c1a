/**
 * The command that undoes a change, for the person at a terminal who has just made it.
 *
 * @module
 */
import type { Entry } from "../../store/port/entries.ts";
import { getField } from "../../job/raw.ts";
import { shellWord } from "../../text/shell.ts";
import { printError } from "../terminal/output.ts";

/** A command names at most this many jobs. */
const MAX_JIDS = 5;

/** Prints the command on a terminal: a script knows what it does. */
export function remarkUndo(command: string | undefined): void {
  if (command !== undefined && Deno.stdout.isTerminal()) printError(`jobs: ${command} undoes this`);
}

/**
 * Returns the command that undoes an action on jobs; undefined if none does: a deleted or cancelled job is gone, and a retry
 * may have run.
 *
 * @param before the jobs as they were
 */
export function undoOf(action: string, jids: readonly string[], before: readonly Entry[]): string | undefined {
  if (jids.length > MAX_JIDS || before.length !== jids.length) return undefined;
  const places = new Set(before.map(({ place }) => place.in));
  const queues = new Set(
    before.map(({ place, payload }) => place.in === "queue" ? place.queue : getField(payload, "queue")),
  );
  const [queue] = queues;
  const named = jids.map(shellWord).join(" ");
  // A scheduled or retrying job has lost its time.
  if (action === "kill" && places.size === 1 && places.has("queue")) return `jobs retry ${named}`;
  if (action === "move" && places.size === 1 && places.has("queue") && queues.size === 1) {
    return `jobs move ${named} --to ${shellWord(String(queue))}`;
  }
  return undefined;
}
