/**
 * What `jobs retry`, `kill` and `delete` share: which jobs, and how many were changed.
 *
 * @module
 */
import { getField } from "../../job/raw.ts";
import type { Edit, Place } from "../../store/admin/admin.ts";
import { editSteps } from "../../store/ops/bulk_edit.ts";
import { placeName, sizeOf } from "../../store/ops/job_sets.ts";
import { fewOf, number } from "../../text/format.ts";
import { COMMON_FLAGS, parseCommand, UsageError } from "../terminal/args.ts";
import { recordAudit } from "./audit.ts";
import { bulkEdit, parseAll } from "./bulk_edit.ts";
import { confirmed, jobCount, missingQueue, YES } from "../terminal/confirm.ts";
import { stateOf } from "./job_rows.ts";
import { print, printError, printJson } from "../terminal/output.ts";
import { withStore } from "./store.ts";
import type { Store } from "../../store/admin/store.ts";

/** Jobs that are edited at the same time. */
const AT_ONCE = 100;

/** One of the three commands. */
export interface EditCommand {
  readonly name: string;
  readonly edit: Edit;
  /** The places whose jobs `--all` may name. */
  readonly all: readonly string[];
  /** How `--all` asks before, in a word: `Delete`; absent where it takes nothing away. */
  readonly asks?: string;
  /** What it is doing, in a word: `Deleting`. */
  readonly doing: string;
  /** Completes "3 jobs …". */
  readonly done: string;
}

/** Edits the jobs named by jid, or all of a place. Exit 1 when one was not found or cannot be edited. */
export async function runEdit(command: EditCommand, argv: readonly string[]): Promise<number> {
  const { flags, args: jids } = parseCommand(command.name, argv, {
    ...COMMON_FLAGS,
    ...YES,
    all: { takes: "text" },
  });
  const { all } = flags;
  if ((all === undefined) === (jids.length === 0)) {
    throw new UsageError(`JIDs or --all SET are wanted: jobs ${command.name} JID … | --all ${command.all.join("|")}`);
  }
  const place = all === undefined ? undefined : parseAll(all, command.all);
  return await withStore(flags, async (store, { deadMaxJobs }) => {
    if (place !== undefined) return await editPlace(store, command, { place, deadMaxJobs, ...flags });
    const { edited, missed } = await editByJid(store, command, jids);
    for (const { jid, why } of missed) printError(`jobs: "${jid}" ${why}`);
    if (flags.json) printJson({ [command.name]: edited, missed: missed.map(({ jid }) => jid) });
    else print(`${jobCount(edited)} ${command.done}`);
    return missed.length === 0 ? 0 : 1;
  });
}

interface EditPlaceOptions {
  readonly place: Place;
  /** Dead keeps no more. */
  readonly deadMaxJobs: number;
  readonly yes: boolean;
  readonly json: boolean;
}

/** Asks where it takes something away, and does it. Exit 1 when there is no such queue, or the answer is no. */
async function editPlace(store: Store, command: EditCommand, options: EditPlaceOptions): Promise<number> {
  const { place, deadMaxJobs, json } = options;
  const stats = await store.admin.stats();
  const missing = missingQueue(place, stats.queues);
  if (missing !== undefined) {
    printError(`jobs: ${missing}`);
    return 1;
  }
  const total = sizeOf(place, stats);
  const over = command.edit === "kill" ? Math.max(0, Math.min(stats.dead, deadMaxJobs) + total - deadMaxJobs) : 0;
  const kept = over > 0 ? `, which keeps the latest ${number(deadMaxJobs)}` : "";
  if (command.asks !== undefined && total > 0) {
    const dropped = over > 0
      ? ` (dead keeps the latest ${number(deadMaxJobs)}: ${number(over)} are gone for good)`
      : "";
    if (!confirmed(`${command.asks} ${jobCount(total)} in ${placeName(place)}${dropped}`, options)) {
      printError(`jobs: nothing is ${command.done}`);
      return 1;
    }
  }
  const edited = await editAll(store, place, { ...command, done: command.done + kept }, total);
  if (json) printJson({ [command.name]: edited, missed: [] });
  else print(`${jobCount(edited)} ${command.done}${kept}`);
  return 0;
}

interface Missed {
  readonly jid: string;
  readonly why: string;
}

async function editByJid(store: Store, { name, edit }: EditCommand, jids: readonly string[]) {
  const missed: Missed[] = [];
  let edited = 0;
  const found = Map.groupBy(await store.admin.find(jids), ({ payload }) => getField(payload, "jid"));
  const editOne = async (jid: string) => {
    const entries = found.get(jid) ?? [];
    const idle = entries.filter((entry) => entry.place.in !== "leased");
    if (entries.length === 0) return "is not here: done, deleted, or in another store";
    if (idle.length === 0) return `is ${stateOf(entries[0]!)} at ${entries[0]!.owner}`;
    const count = await store.admin.edit(idle.map((entry) => entry.ref), edit);
    edited += count;
    return count === 0 ? "moved meanwhile; try again" : undefined;
  };
  const all = [...new Set(jids)];
  for (let from = 0; from < all.length; from += AT_ONCE) {
    // Those that wait for their turn share a step of the store: deep in a queue, it costs as much for one as for many.
    const some = all.slice(from, from + AT_ONCE);
    const reasons = await Promise.all(some.map(editOne));
    missed.push(...some.flatMap((jid, i) => reasons[i] === undefined ? [] : [{ jid, why: reasons[i] }]));
  }
  await recordAudit(store, { action: name, target: fewOf(jids), count: edited });
  return { edited, missed };
}

/**
 * Edits the jobs that are in a place now, earliest first, in batches: what comes there meanwhile is left alone.
 *
 * @param most at most so many; default as many as are there
 * @returns how many were edited
 * @throws {Interrupted} when it is asked to stop; what is done by then stays done
 */
export async function editAll(
  store: Store,
  place: Place,
  { name, edit, doing, done }: Pick<EditCommand, "name" | "edit" | "doing" | "done">,
  most?: number,
): Promise<number> {
  const total = most ?? sizeOf(place, await store.admin.stats());
  const steps = editSteps(store, { place, edit, total });
  return await bulkEdit(store, { name, doing, done, place, total, steps });
}
