/**
 * The operations of an operator on a batch or a flow: cancel it, retry its dead members, check its counters. A batch keeps no list of its
 * members, so these operations read the jobs of the store, in windows of bounded size.
 *
 * @module
 */
import { countedIn, membershipOf } from "../../job/batch.ts";
import { getField } from "../../job/raw.ts";
import type { AdminStore, Entry, Place } from "../admin/admin.ts";
import type { Batch, BatchStore, CloseResult } from "../port/batches.ts";
import { type FlowStore, SPREAD_LIMIT } from "../port/flows.ts";
import { cancelEntries, type CancelStore } from "./cancel.ts";
import { matchingWindows } from "./matching.ts";

/** The verbs of a store that these operations use. */
export type BatchOpsStore = CancelStore & {
  readonly admin: Pick<AdminStore, "page" | "stats" | "groups" | "edit">;
  readonly batches: Pick<BatchStore, "get" | "close" | "correct">;
  readonly flows: Pick<FlowStore, "spread">;
};

/** Maximum number of attempts to correct a batch: its members may end between the read and the correction. */
const MAX_ATTEMPTS = 5;

const GROUPS_PER_READ = 500;

/** The result of a check. */
export interface BatchCheck {
  /** Members in the store that are pending, and dead. */
  readonly pending: number;
  readonly dead: number;
  /** The counters before the check. */
  readonly before: Pick<Batch, "pending" | "dead">;
  /** `busy`: the batch changed during each attempt, and nothing was corrected. */
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
  for await (const entries of membersOf(store, id)) {
    yield await cancelEntries(store, entries.filter(({ place }) => place.in !== "dead"), now());
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
 * @returns undefined for an unknown batch
 */
export async function checkBatch(store: BatchOpsStore, id: string): Promise<BatchCheck | undefined> {
  for (let attempts = 1;; attempts++) {
    const before = await store.batches.get(id);
    if (before === undefined) return undefined;
    // Nodes that wait are in no place of jobs.
    const found = { pending: before.waiting ?? 0, dead: 0 };
    for await (const entries of membersOf(store, id)) {
      for (const { payload } of entries) {
        const counted = countedIn(payload)?.counted;
        if (counted !== undefined) found[counted]++;
      }
    }
    const after = await store.batches.get(id);
    const result = { ...found, before: { pending: before.pending, dead: before.dead } };
    if (after?.version === before.version) {
      if (found.pending === before.pending && found.dead === before.dead) return { ...result, result: "right" };
      if (await store.batches.correct(id, { ...found, version: before.version })) {
        return { ...result, result: "corrected" };
      }
    }
    if (attempts === MAX_ATTEMPTS) return { ...result, result: "busy" };
  }
}

/** Yields the members of a batch, place by place, for each window of jobs that was read; none for a window without members. */
async function* membersOf(
  store: Pick<BatchOpsStore, "admin">,
  id: string,
  places?: readonly Place[],
): AsyncGenerator<readonly Entry[]> {
  for (const place of places ?? await allPlaces(store)) {
    for await (const { entries } of matchingWindows(store, { place, filter: { text: id } })) {
      yield entries.filter(({ payload }) => isMember(payload, id));
    }
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
