/**
 * The data of the screen, read at one moment with at most seven requests to the store.
 *
 * @module
 */
import type { AdminStore, Stats } from "../../store/admin/admin.ts";
import type { Page, Place } from "../../store/port/entries.ts";
import { type GroupInfo, nameOf } from "../../store/port/groups.ts";
import type { Batch, BatchStore } from "../../store/port/batches.ts";
import type { WorkerStore } from "../../store/port/workers.ts";
import { type RunningJobs, runningJobs } from "./running_jobs.ts";

/** Jobs of a list that are read at once. */
const PAGE_SIZE = 200;
/** Of this many latest batches, and as many flows, the unfinished ones are shown. */
const MAX_BATCHES = 50;

/** The first groups of a queue by name, of which an open queue shows the largest. */
const MAX_GROUPS = 500;

/** The page of a list that is open. */
export interface OpenList {
  readonly place: Place;
  /** The cursors of this page and of the previous ones; none for the first. */
  readonly cursors: readonly string[];
}

/** The store at one moment. */
export interface Snapshot extends RunningJobs {
  /** When it was read, in epoch milliseconds. Ages are relative to it. */
  readonly at: number;
  /** The store's address, without a password. */
  readonly url: string;
  readonly stats: Stats;
  /** The latest unfinished batches and flows, newest first. */
  readonly batches: readonly Batch[];
  /** The open list, with its page. */
  readonly list?: OpenList & {
    readonly page: Page;
    /** The groups of an open queue, the largest first: by queued jobs, then by running ones. */
    readonly groups?: readonly GroupInfo[];
    /** Whether the queue has more groups. */
    readonly hasMoreGroups?: boolean;
  };
}

/** Reads a snapshot, and the page of the open list. */
export async function readSnapshot(
  store: {
    readonly admin: Pick<AdminStore, "stats" | "page" | "groups">;
    readonly workers: Pick<WorkerStore, "list">;
    readonly batches: Pick<BatchStore, "read">;
    readonly url: string;
  },
  now: () => number,
  open: OpenList | undefined,
): Promise<Snapshot> {
  const [stats, reported, leased, batches, flows, page, groups] = await Promise.all([
    store.admin.stats(),
    store.workers.list(),
    store.admin.page({ in: "running" }, { limit: PAGE_SIZE }),
    store.batches.read({ limit: MAX_BATCHES }),
    store.batches.read({ limit: MAX_BATCHES, flows: true }),
    open && store.admin.page(open.place, {
      limit: PAGE_SIZE,
      reverse: open.place.in === "dead", // latest dead first, other places in the order of their work
      ...(open.cursors.length > 0 && { cursor: open.cursors.at(-1)! }),
    }),
    open?.place.in === "queue" ? store.admin.groups(open.place.queue, { limit: MAX_GROUPS }) : undefined,
  ]);
  return {
    at: now(),
    url: store.url,
    stats,
    ...runningJobs(reported, leased),
    batches: [...batches.batches, ...flows.batches].filter(isUnfinished).sort((a, b) => b.createdAt - a.createdAt),
    ...(open && page && {
      list: {
        ...open,
        page,
        groups: (groups?.groups ?? []).toSorted((a, b) => b.size - a.size || b.running - a.running),
        hasMoreGroups: groups?.next !== undefined,
      },
    }),
  };
}

/** Returns whether a batch needs more: members, their ends, or a hand. Also one that was cancelled or abandoned. */
function isUnfinished({ state, pending }: Batch): boolean {
  return ["open", "running", "stuck"].includes(state) || pending > 0;
}

/** Returns whether both are the same page of the same list. */
export function isSameList(a: OpenList | undefined, b: OpenList | undefined): boolean {
  return a !== undefined && b !== undefined && placeKey(a.place) === placeKey(b.place) &&
    a.cursors.at(-1) === b.cursors.at(-1);
}

/** Returns the name of a place: `queue mail`, `queue mail|acme`, `retry`. */
function placeKey(place: Place): string {
  return place.in === "queue" ? `queue ${nameOf(place.queue, place.group)}` : place.in;
}
