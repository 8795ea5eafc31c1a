/**
 * The operations of an operator on a batch or a flow: cancel it, retry its dead members, check its counters. A batch keeps no list of its
 * members, so these operations read the jobs of the store, in windows of bounded size.
 *
 * @module
 */
import { type Counted, countedIn, membershipOf } from "../../job/batch.ts";
import { getField } from "../../job/raw.ts";
import type { AdminStore, Entry, Place } from "../admin/admin.ts";
import type { Batch, BatchStore, CloseResult } from "../port/batches.ts";
import { type FlowStore, SPREAD_LIMIT } from "../port/flows.ts";
import { cancelEntries, type CancelStore } from "./cancel.ts";
import { windows } from "./scan.ts";

/** The verbs of a store that these operations use. */
export type BatchOpsStore = CancelStore & {
  readonly admin: Pick<AdminStore, "page" | "stats" | "groups" | "edit">;
  readonly batches: Pick<BatchStore, "get" | "page" | "close" | "correct">;
  readonly flows: Pick<FlowStore, "spread">;
};

/** Maximum number of readings of a check. It corrects a lower count only after all of them. */
const MAX_READINGS = 8;
/** Maximum number of passes of a cancel: members may move past each of them. */
const MAX_PASSES = 8;
/** Number of batches that are read at once. */
const PAGE = 200;

const GROUPS_PER_READ = 500;

/** The result of a check. */
export interface BatchCheck {
  /** Members in the store that are pending, and dead. */
  readonly pending: number;
  readonly dead: number;
  /** The counters before the check. */
  readonly before: Pick<Batch, "pending" | "dead">;
  /** `busy`: the batch changed during each reading, and nothing was corrected. */
  readonly result: "right" | "corrected" | "busy";
}

/** How a batch is closed after a cancel, and how many members that cancelled. */
export type CancelledBatch = NonNullable<CloseResult> & { readonly members: number };

/**
 * Closes a batch or a flow as cancelled, then cancels its members: queued ones are removed, workers abort running ones, and
 * nodes that wait never start.
 *
 * @param now epoch milliseconds
 * @returns undefined for an unknown batch
 */
export async function cancelBatch(store: BatchOpsStore, id: string, now: number): Promise<CancelledBatch | undefined> {
  const closed = await store.batches.close(id, "cancelled");
  if (closed === undefined) return undefined;
  // The next call continues one that was interrupted.
  const members = closed.closedAs === "cancelled" ? await sum(cancelMembers(store, id, closed, () => now)) : 0;
  return { ...closed, members };
}

/**
 * Cancels the members of a batch that is closed as cancelled, in steps of bounded size. Yields how many each step cancelled;
 * 0 for a part of the store that has none.
 *
 * @param closed the result of the close, which has cancelled the nodes that waited
 * @param now returns epoch milliseconds
 */
export async function* cancelMembers(
  store: BatchOpsStore,
  id: string,
  { waiting = 0 }: NonNullable<CloseResult>,
  now: () => number,
): AsyncGenerator<number> {
  if (waiting > 0) yield waiting;
  // A pass may miss members that move meanwhile. A running one is in the store until its worker has aborted it.
  const cancelled = new Set<string>();
  for (let passes = 1; passes <= MAX_PASSES; passes++) {
    let found = 0;
    for await (const entries of membersOf(store, id)) {
      const living = entries.filter(({ place, payload, ref }) => {
        const name = `${getField(payload, "jid") ?? ref}`;
        return place.in !== "dead" && !cancelled.has(name) && cancelled.add(name);
      });
      found += living.length;
      yield await cancelEntries(store, living, now());
    }
    if (found === 0 || (await store.batches.get(id))?.pending === 0) break;
  }
  // The close has marked the nodes of a large flow; these steps write their states.
  while (await store.flows.spread(SPREAD_LIMIT)) yield 0;
}

/** Requeues the dead members of a batch. Returns how many. */
export function retryBatch(store: BatchOpsStore, id: string): Promise<number> {
  return sum(retryMembers(store, id));
}

/** Requeues the dead members of a batch in steps of bounded size. Yields how many each step requeued. */
export async function* retryMembers(store: BatchOpsStore, id: string): AsyncGenerator<number> {
  for await (const entries of membersOf(store, id, [{ in: "dead" }])) {
    yield entries.length === 0 ? 0 : await store.admin.edit(entries.map(({ ref }) => ref), "requeue");
  }
}

/**
 * Counts the members of a batch, and corrects its counters if another program has removed members.
 *
 * Members move while they are read, for example to be retried, and one reading may miss some. But an unchanged version of the
 * batch means that each member seen since then still exists: several readings together find what each of them missed.
 *
 * @returns undefined for an unknown batch
 */
export async function checkBatch(store: BatchOpsStore, id: string): Promise<BatchCheck | undefined> {
  const before = await store.batches.get(id);
  if (before === undefined) return undefined;
  let current = before;
  let seen = new Map<string, Counted>();
  for (let readings = 1; readings <= MAX_READINGS; readings++) {
    await readMembers(store, id, seen);
    const after = await store.batches.get(id);
    if (after === undefined) return undefined;
    if (after.version !== current.version) {
      current = after;
      seen = new Map();
      continue;
    }
    // Nodes that wait are in no place of jobs.
    const counts = [...seen.values()];
    const dead = counts.filter((counted) => counted === "dead").length;
    const pending = counts.length - dead + (current.waiting ?? 0);
    const found = { pending, dead, before: { pending: current.pending, dead: current.dead } };
    if (pending === current.pending && dead === current.dead) return { ...found, result: "right" };
    const isCertain = pending + dead > current.pending + current.dead || readings === MAX_READINGS;
    if (isCertain && await store.batches.correct(id, { pending, dead, version: current.version })) {
      return { ...found, result: "corrected" };
    }
  }
  return { pending: current.pending, dead: current.dead, before: current, result: "busy" };
}

/** Adds the members in the store, jobs and nested batches, with the state in which the batch counts each. */
async function readMembers(store: BatchOpsStore, id: string, seen: Map<string, Counted>): Promise<void> {
  for await (const entries of membersOf(store, id)) {
    for (const { payload, ref } of entries) {
      const counted = countedIn(payload)?.counted;
      if (counted !== undefined) seen.set(`job ${getField(payload, "jid") ?? ref}`, counted);
    }
  }
  for (const flows of [false, true]) {
    for (let cursor: string | undefined;;) {
      const { batches, next } = await store.batches.page({
        flows,
        limit: PAGE,
        ...(cursor !== undefined && { cursor }),
      });
      for (const batch of batches) {
        const counted = batch.parent === id ? countedByParent(batch) : undefined;
        if (counted !== undefined) seen.set(`batch ${batch.id}`, counted);
      }
      if ((cursor = next) === undefined) break;
    }
  }
}

/** Returns how its parent counts a batch in the store; undefined if it has ended for it. */
function countedByParent({ closedAt, pending, dead }: Batch): Counted | undefined {
  if (closedAt === undefined || pending > 0) return "pending";
  return dead > 0 ? "dead" : undefined;
}

/** Yields the members of a batch, place by place, for each window of jobs that was read; none for a window without members. */
async function* membersOf(
  store: Pick<BatchOpsStore, "admin">,
  id: string,
  places?: readonly Place[],
): AsyncGenerator<readonly Entry[]> {
  for (const place of places ?? await allPlaces(store)) {
    const read = async (page: { readonly limit: number; readonly cursor?: string }) => {
      const { entries, next } = await store.admin.page(place, page);
      return { rows: entries, next };
    };
    for await (const { rows } of windows({ read })) yield rows.filter(({ payload }) => isMember(payload, id));
  }
}

async function sum(steps: AsyncIterable<number>): Promise<number> {
  let total = 0;
  for await (const more of steps) total += more;
  return total;
}

function isMember(payload: string, id: string): boolean {
  return membershipOf({ batch: getField(payload, "batch") })?.id === id;
}

/** Returns all places. Leases come after the queues: jobs taken during the read are found there. */
async function allPlaces(store: Pick<BatchOpsStore, "admin">): Promise<Place[]> {
  const places: Place[] = [{ in: "scheduled" }, { in: "retry" }];
  for (const { name } of (await store.admin.stats()).queues) {
    places.push({ in: "queue", queue: name });
    for (let cursor: string | undefined;;) {
      const { groups, next } = await store.admin.groups(name, {
        limit: GROUPS_PER_READ,
        ...(cursor !== undefined && { cursor }),
      });
      for (const { name: group } of groups) places.push({ in: "queue", queue: name, group });
      if ((cursor = next) === undefined) break;
    }
  }
  return [...places, { in: "running" }, { in: "dead" }];
}
