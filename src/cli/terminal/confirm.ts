/**
 * Asking before a command takes many jobs away: `clear`, and `--all` of `delete`, `kill` and `cancel`. On a terminal it
 * asks; where nobody can be asked, `--yes` has to say so beforehand.
 *
 * @module
 */
import { closestWord } from "../../text/suggest.ts";
import type { Place, QueueInfo } from "../../store/admin/admin.ts";
import { number } from "../../text/format.ts";
import { type Flag, UsageError } from "./args.ts";
import { ask } from "./output.ts";

/** The flag that answers beforehand. */
export const YES = { yes: { takes: "switch" } } as const satisfies Record<string, Flag>;

/**
 * Whether to go on.
 *
 * @param what is about to be done, as a sentence that begins with a verb and has no end: `Delete 5 jobs in queue:low`
 * @throws {UsageError} when nobody can be asked
 */
export function confirmed(what: string, { yes }: { readonly yes: boolean }): boolean {
  if (yes) return true;
  if (!Deno.stdin.isTerminal()) throw new UsageError(`${what}? Nobody can be asked here: say --yes`);
  return /^y(es)?$/i.test(ask(`${what}? [y/N] `) ?? "");
}

/** `1 job`, `2,500 jobs`. */
export function jobCount(count: number): string {
  return `${number(count)} ${count === 1 ? "job" : "jobs"}`;
}

/** What to say where a place is a queue that is not here; undefined where it is, or is none. */
export function missingQueue(place: Place, queues: readonly QueueInfo[]): string | undefined {
  if (place.in !== "queue" || queues.some(({ name }) => name === place.queue)) return undefined;
  const meant = closestWord(place.queue, queues.map((queue) => queue.name));
  return `no queue "${place.queue}" here${meant === undefined ? "; jobs list queues" : `; did you mean "${meant}"?`}`;
}
