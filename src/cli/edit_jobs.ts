/**
 * What `jobs retry`, `kill` and `delete` share: which jobs, and how many were changed.
 *
 * @module
 */
import type { Edit, Place, SetName, StoreAdmin } from "../store/admin.ts";
import { COMMON_FLAGS, parseCommand, UsageError } from "./args.ts";
import { fewOf, writeDown } from "./audit.ts";
import { print, printJson, remark } from "./output.ts";
import { placeName } from "./entries.ts";
import { Interrupted, LongWork, number } from "./progress.ts";
import { withStore } from "./store.ts";

/** At most so many in one step of the store. */
const BATCH = 1_000;

/** One of the three commands. */
export interface EditCommand {
  readonly name: string;
  readonly edit: Edit;
  /** The places whose jobs `--all` may name. */
  readonly all: readonly string[];
  /** What it is doing, in a word: `Deleting`. */
  readonly doing: string;
  /** Completes "3 jobs …". */
  readonly done: string;
}

/** Edits the jobs named by jid, or all of a place. Exit 1 when one was not found or cannot be edited. */
export async function runEdit(command: EditCommand, argv: readonly string[]): Promise<number> {
  const { flags, args: jids } = parseCommand(command.name, argv, {
    ...COMMON_FLAGS,
    all: { takes: "text" },
  });
  const { all } = flags;
  if ((all === undefined) === (jids.length === 0)) {
    throw new UsageError(`JIDs or --all SET are wanted: jobs ${command.name} JID … | --all ${command.all.join("|")}`);
  }
  const place = all === undefined ? undefined : parsePlace(command, all);
  return await withStore(flags, async (store) => {
    const result = place === undefined
      ? await editByJid(store, command, jids)
      : { edited: await editAll(store, place, command), missed: [] };
    for (const { jid, why } of result.missed) remark(`jobs: "${jid}" ${why}`);
    if (flags.json) printJson({ [command.name]: result.edited, missed: result.missed.map(({ jid }) => jid) });
    else print(`${result.edited} ${result.edited === 1 ? "job" : "jobs"} ${command.done}`);
    return result.missed.length === 0 ? 0 : 1;
  });
}

function parsePlace(command: EditCommand, all: string): Place {
  if (!command.all.includes(all.startsWith("queue:") ? "queue:NAME" : all)) {
    throw new UsageError(`--all is "${all}"; wanted: one of ${command.all.join(", ")}`);
  }
  return all.startsWith("queue:") ? { in: "queue", queue: all.slice("queue:".length) } : { in: all as SetName };
}

interface Missed {
  readonly jid: string;
  readonly why: string;
}

async function editByJid(store: StoreAdmin, { name, edit }: EditCommand, jids: readonly string[]) {
  const missed: Missed[] = [];
  let edited = 0;
  for (const jid of jids) {
    const entries = await store.find(jid);
    const idle = entries.filter((entry) => entry.place.in !== "leased");
    if (entries.length === 0) missed.push({ jid, why: "is not here: done, deleted, or in another store" });
    else if (idle.length === 0) missed.push({ jid, why: `is ${placeName(entries[0]!)} at ${entries[0]!.owner}` });
    else {
      const count = await store.edit(idle.map((entry) => entry.ref), edit);
      if (count === 0) missed.push({ jid, why: "moved meanwhile; try again" });
      edited += count;
    }
  }
  await writeDown(store, { action: name, target: fewOf(jids), count: edited });
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
  store: StoreAdmin,
  place: Place,
  { name, edit, doing, done }: Pick<EditCommand, "name" | "edit" | "doing" | "done">,
  most?: number,
): Promise<number> {
  const total = most ?? await countIn(store, place);
  const act = { action: name, target: `all in ${place.in === "queue" ? `queue:${place.queue}` : place.in}` };
  // Before it is done, so that it is known whatever happens; and once more at its end.
  await writeDown(store, { ...act, count: total, outcome: "begun" });
  using work = new LongWork(doing);
  let edited = 0;
  while (edited < total) {
    if (work.signal.aborted) {
      const left = number(total - edited);
      await writeDown(store, { ...act, count: edited, outcome: "interrupted" });
      throw new Interrupted(
        `Stopped: ${number(edited)} of ${number(total)} jobs ${done}, ${left} are left as they were`,
      );
    }
    const count = await store.editSome(place, edit, Math.min(BATCH, total - edited));
    if (count === 0) break;
    edited += count;
    work.at({ done: edited, total });
  }
  await writeDown(store, { ...act, count: edited });
  return edited;
}

/** How many jobs are in a place now. */
export async function countIn(store: StoreAdmin, place: Place): Promise<number> {
  if (place.in === "queue") return (await store.queues()).find(({ name }) => name === place.queue)?.size ?? 0;
  return (await store.stats())[place.in];
}
