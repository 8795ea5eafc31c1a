/**
 * Checks the counters of a batch. A store counts the members at one moment, if it can. Redis with many jobs can't: there, only
 * readings that find each member where it was before count.
 *
 * @module
 */
import { type Counted, countedIn } from "../../job/batch.ts";
import { getField } from "../../job/raw.ts";
import type { Batch } from "../port/batches.ts";
import { type BatchOpsStore, membersOf } from "./batches.ts";

/** Maximum number of readings, and of corrections that a change of the batch prevents. */
const MAX_READINGS = 8;
/** Equal readings in a row after which no member is taken to be moving. */
const EQUAL_READINGS = 4;
/** Number of batches that are read at once. */
const PAGE = 200;

/** The result of a check. */
export interface BatchCheck {
  /** Members in the store that are pending, and dead. */
  readonly pending: number;
  readonly dead: number;
  /** The counters before the check. */
  readonly before: Pick<Batch, "pending" | "dead">;
  /** `busy`: members ended or moved during each reading, and nothing was corrected. */
  readonly result: "right" | "corrected" | "busy";
}

/**
 * Counts the members of a batch, and corrects its counters if another program has removed members, or has changed a counter.
 *
 * @returns undefined for an unknown batch
 */
export async function checkBatch(store: BatchOpsStore, id: string): Promise<BatchCheck | undefined> {
  for (let tries = 1;; tries++) {
    const counted = await store.batches.count(id);
    if (counted === undefined) return undefined;
    if (counted === "large") return await checkByReadings(store, id);
    const { batch, pending, dead } = counted;
    const before = { pending: batch.pending, dead: batch.dead };
    if (pending === before.pending && dead === before.dead) return { pending, dead, before, result: "right" };
    if (await store.batches.correct(id, { pending, dead, version: batch.version })) {
      return { pending, dead, before, result: "corrected" };
    }
    if (tries === MAX_READINGS) return { ...before, before, result: "busy" };
  }
}

/** A member in the store: how it is counted, and a text that differs after each of its moves. */
interface Seen {
  readonly counted: Counted;
  readonly where: string;
}

/**
 * Checks by reading the places one after the other. Members move meanwhile, for example to be retried, and a reading may miss
 * some. While the version of the batch stays the same, each member seen since then still exists: several readings together find what
 * each of them missed, in turns in either order of the places. A count that stays too low counts only if no member has moved for several
 * readings.
 */
async function checkByReadings(store: BatchOpsStore, id: string): Promise<BatchCheck | undefined> {
  let current = (await store.batches.read({ ids: [id] })).batches[0];
  if (current === undefined) return undefined;
  const { pending, dead } = current;
  const before = { pending, dead };
  let seen = new Map<string, Seen>();
  let last = seen;
  let equal = 0;
  for (let readings = 1; readings <= MAX_READINGS; readings++) {
    const found = await readMembers(store, id, readings % 2 === 0);
    const after = (await store.batches.read({ ids: [id] })).batches[0];
    if (after === undefined) return undefined;
    if (after.version !== current.version) {
      [current, seen, equal] = [after, new Map(), 0];
      continue;
    }
    equal = equal > 0 && isSame(last, found) ? equal + 1 : 1;
    last = found;
    for (const [name, one] of found) seen.set(name, one);
    const counts = [...seen.values()];
    const dead = counts.filter(({ counted }) => counted === "dead").length;
    // Nodes that wait are in no place of jobs.
    const pending = counts.length - dead + (current.waiting ?? 0);
    if (pending === current.pending && dead === current.dead) return { pending, dead, before, result: "right" };
    const isCertain = pending + dead > current.pending + current.dead || equal === EQUAL_READINGS;
    if (isCertain && await store.batches.correct(id, { pending, dead, version: current.version })) {
      return { pending, dead, before, result: "corrected" };
    }
  }
  return { pending: current.pending, dead: current.dead, before, result: "busy" };
}

function isSame(before: ReadonlyMap<string, Seen>, now: ReadonlyMap<string, Seen>): boolean {
  return before.size === now.size && [...now].every(([name, { where }]) => before.get(name)?.where === where);
}

/** Returns the members in the store, jobs and nested batches, by name. */
async function readMembers(store: BatchOpsStore, id: string, reverse: boolean): Promise<Map<string, Seen>> {
  const seen = new Map<string, Seen>();
  for await (const entries of membersOf(store, id, { reverse })) {
    for (const { payload, place, at, ref } of entries) {
      const counted = countedIn(payload)?.counted;
      if (counted === undefined) continue;
      // A retry and a snooze change the length or the time.
      const where = [...Object.values(place), at, payload.length].join();
      seen.set(`job ${getField(payload, "jid") ?? ref}`, { counted, where });
    }
  }
  for (const flows of [false, true]) {
    for (let cursor: string | undefined;;) {
      const request = { flows, limit: PAGE, ...(cursor !== undefined && { cursor }) };
      const { batches, next } = await store.batches.read(request);
      for (const batch of batches) {
        const counted = batch.parent === id ? countedByParent(batch) : undefined;
        if (counted !== undefined) seen.set(`batch ${batch.id}`, { counted, where: counted });
      }
      if ((cursor = next) === undefined) break;
    }
  }
  return seen;
}

/** Returns how its parent counts a batch in the store; undefined if it has ended for it. */
function countedByParent({ closedAt, pending, dead }: Batch): Counted | undefined {
  if (closedAt === undefined || pending > 0) return "pending";
  return dead > 0 ? "dead" : undefined;
}
