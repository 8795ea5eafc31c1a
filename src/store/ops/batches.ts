/**
 * The operations of an operator on a batch or a flow: cancel it, retry its dead members; `batch_check.ts` checks its counters. They
 * read the members by an index, or all jobs of a store that has none, in windows of bounded size.
 *
 * @module
 */
import { batchIn } from "../../job/batch.ts";
import { getField } from "../../job/raw.ts";
import type { AdminStore } from "../admin/admin.ts";
import type { Entry, Page, PageRequest, Place } from "../port/entries.ts";
import { type BatchStore, type CloseResult, TEND_LIMIT } from "../port/batches.ts";
import { cancelEntries, type CancelStore } from "./cancel.ts";
import { windows } from "./scan.ts";

/** The verbs of a store that these operations use. */
export type BatchOpsStore = CancelStore & {
  readonly admin: Pick<AdminStore, "page" | "members" | "stats" | "groups">;
  readonly batches: Pick<BatchStore, "read" | "close" | "count" | "correct" | "tend">;
};

/** Maximum number of passes of a cancel: members may move past each of them. */
const MAX_PASSES = 8;

const GROUPS_PER_READ = 500;

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
    if (found === 0 || (await store.batches.read({ ids: [id] })).batches[0]?.pending === 0) break;
  }
  // The close has marked the nodes of a large flow; these steps write their states.
  while ((await store.batches.tend(TEND_LIMIT, "nodes")).more) yield 0;
}

/** Requeues the dead members of a batch. Returns how many. */
export function retryBatch(store: BatchOpsStore, id: string): Promise<number> {
  return sum(retryMembers(store, id));
}

/** Requeues the dead members of a batch in steps of bounded size. Yields how many each step requeued. */
export async function* retryMembers(store: BatchOpsStore, id: string): AsyncGenerator<number> {
  for await (const entries of membersOf(store, id, { dead: true })) {
    yield entries.length === 0 ? 0 : await store.jobs.edit(entries.map(({ ref }) => ref), "requeue");
  }
}

/**
 * Yields the members of a batch in windows of bounded size: by an index of the store, or else place by place, for each window of
 * jobs that was read; none for a window without members.
 *
 * @param options.dead only the dead
 * @param options.reverse reads the places in the opposite order
 */
export async function* membersOf(
  store: Pick<BatchOpsStore, "admin">,
  id: string,
  { dead = false, reverse = false }: { readonly dead?: boolean; readonly reverse?: boolean } = {},
): AsyncGenerator<readonly Entry[]> {
  const { admin } = store;
  if (admin.members !== undefined) {
    const read = async (page: ReadRequest) => rowsOf(await admin.members!(id, { ...page, dead }));
    for await (const { rows } of windows({ read })) yield rows;
    return;
  }
  const places: Place[] = dead ? [{ in: "dead" }] : await allPlaces(store);
  for (const place of reverse ? places.toReversed() : places) {
    const read = async (page: ReadRequest) => rowsOf(await admin.page(place, page));
    for await (const { rows } of windows({ read })) yield rows.filter(({ payload }) => batchIn(payload) === id);
  }
}

type ReadRequest = Pick<PageRequest, "limit" | "cursor">;

function rowsOf({ entries, ...page }: Page): { readonly rows: readonly Entry[]; readonly next?: string } {
  return { ...page, rows: entries };
}

async function sum(steps: AsyncIterable<number>): Promise<number> {
  let total = 0;
  for await (const more of steps) total += more;
  return total;
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
