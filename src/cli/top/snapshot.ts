/**
 * What the screen shows: read at one moment, with two or three questions to the store.
 *
 * @module
 */
import type { AdminStore, Page, Place, Stats } from "../../store/admin/admin.ts";
import type { WorkerInfo, WorkerStore } from "../../store/port/workers.ts";

/** Jobs of a list that are read at once. */
const PAGE_SIZE = 200;

/** The page of a list that is open. */
export interface OpenList {
  readonly place: Place;
  /** The cursors of this page and of those before it; none for the first. */
  readonly cursors: readonly string[];
}

/** The store at one moment. */
export interface Snapshot {
  /** When it was read, epoch milliseconds: ages are as of then. */
  readonly at: number;
  /** The store's address, without a password. */
  readonly url: string;
  readonly stats: Stats;
  readonly processes: readonly WorkerInfo[];
  /** The list that was open, with what is on its page. */
  readonly list?: OpenList & { readonly page: Page };
}

/** Reads everything that is shown. */
export async function readSnapshot(
  store: { readonly admin: Pick<AdminStore, "stats" | "page">; readonly workers: Pick<WorkerStore, "list"> } & {
    readonly url: string;
  },
  now: () => number,
  open: OpenList | undefined,
): Promise<Snapshot> {
  const [stats, processes, page] = await Promise.all([
    store.admin.stats(),
    store.workers.list(),
    open && store.admin.page(open.place, {
      limit: PAGE_SIZE,
      reverse: open.place.in === "dead", // the latest dead first, what is due or taken next first
      ...(open.cursors.length > 0 && { cursor: open.cursors.at(-1)! }),
    }),
  ]);
  return { at: now(), url: store.url, stats, processes, ...(open && page && { list: { ...open, page } }) };
}

/** Whether both are the same page of the same list. */
export function isSameList(a: OpenList | undefined, b: OpenList | undefined): boolean {
  return a !== undefined && b !== undefined && placeKey(a.place) === placeKey(b.place) &&
    a.cursors.at(-1) === b.cursors.at(-1);
}

/** The place in words: `queue mail`, `retry`. */
export function placeKey(place: Place): string {
  return place.in === "queue" ? `queue ${place.queue}` : place.in;
}
