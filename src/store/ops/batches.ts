/**
 * What operators do to a batch: cancel it, retry its dead members, check its counters. A batch keeps no list of its
 * members, so that these look through the jobs of the store, in windows of bounded size.
 *
 * @module
 */
import { countedIn, membershipOf } from "../../job/batch.ts";
import { getField } from "../../job/raw.ts";
import type { AdminStore, Entry, Place } from "../admin/admin.ts";
import type { Batch, BatchStore, CloseResult } from "../port/batches.ts";
import { cancelEntries, type CancelStore } from "./cancel.ts";
import { matchingWindows } from "./matching.ts";

/** What it needs of a store. */
export type BatchOpsStore = CancelStore & {
  readonly admin: Pick<AdminStore, "page" | "stats" | "groups" | "edit">;
  readonly batches: Pick<BatchStore, "get" | "close" | "correct">;
};

/** A batch whose members end all the time may change between reading and correcting. */
const MAX_TRIES = 5;

const GROUPS_READ = 500;

/** What a check found. */
export interface BatchCheck {
  /** Members in the store that the batch should count as pending, and as dead. */
  readonly pending: number;
  readonly dead: number;
  /** How it counted them. */
  readonly before: Pick<Batch, "pending" | "dead">;
  /** `busy`: the batch changed each time meanwhile, and nothing was corrected. */
  readonly result: "right" | "corrected" | "busy";
}

/**
 * Closes a batch as cancelled, then cancels its members: waiting ones are removed, workers abort running ones.
 *
 * @param now epoch milliseconds
 * @returns how it is closed, and how many members are cancelled; undefined if there is no such batch
 */
export async function cancelBatch(
  store: BatchOpsStore,
  id: string,
  now: number,
): Promise<NonNullable<CloseResult> & { readonly members: number } | undefined> {
  const closed = await store.batches.close(id, "cancelled");
  if (closed === undefined) return undefined;
  let members = 0;
  // A cancel that was interrupted is continued by the next one.
  if (closed.closedAs === "cancelled") {
    for await (const entries of membersOf(store, id)) {
      members += await cancelEntries(store, entries.filter(({ place }) => place.in !== "dead"), now);
    }
  }
  return { ...closed, members };
}

/** Requeues the dead members of a batch; returns how many. */
export async function retryBatch(store: BatchOpsStore, id: string): Promise<number> {
  let members = 0;
  for await (const entries of membersOf(store, id, [{ in: "dead" }])) {
    members += await store.admin.edit(entries.map(({ ref }) => ref), "requeue");
  }
  return members;
}

/**
 * Counts the members of a batch, and corrects its counters where another program has removed members without telling.
 *
 * @returns undefined if there is no such batch
 */
export async function checkBatch(store: BatchOpsStore, id: string): Promise<BatchCheck | undefined> {
  for (let tries = 1;; tries++) {
    const before = await store.batches.get(id);
    if (before === undefined) return undefined;
    const found = { pending: 0, dead: 0 };
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
    if (tries === MAX_TRIES) return { ...result, result: "busy" };
  }
}

/** The members of a batch, place by place. */
export async function* membersOf(
  store: Pick<BatchOpsStore, "admin">,
  id: string,
  places?: readonly Place[],
): AsyncGenerator<readonly Entry[]> {
  for (const place of places ?? await allPlaces(store)) {
    for await (const { entries } of matchingWindows(store, { place, filter: { text: id } })) {
      const members = entries.filter(({ payload }) => isMember(payload, id));
      if (members.length > 0) yield members;
    }
  }
}

function isMember(payload: string, id: string): boolean {
  return membershipOf({ batch: getField(payload, "batch") })?.id === id;
}

/** Leases last: what is taken while the queues are read is found there. */
async function allPlaces(store: Pick<BatchOpsStore, "admin">): Promise<Place[]> {
  const places: Place[] = [{ in: "scheduled" }, { in: "retry" }];
  for (const { name } of (await store.admin.stats()).queues) {
    places.push({ in: "queue", queue: name });
    for (let cursor: string | undefined;;) {
      const { groups, next } = await store.admin.groups(name, {
        limit: GROUPS_READ,
        ...(cursor !== undefined && { cursor }),
      });
      for (const { name: group } of groups) places.push({ in: "queue", queue: name, group });
      if ((cursor = next) === undefined) break;
    }
  }
  return [...places, { in: "leased" }, { in: "dead" }];
}
