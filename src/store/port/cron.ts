/**
 * The cron part of the store port: the state of each cron entry. The caller makes all decisions; the store compares and swaps.
 * Either an occurrence is decided and its job is in its queue, or neither.
 *
 * An entry is **shared** if any worker may decide on it: a worker claims those that are due. The other entries belong to the
 * workers that have them in their configuration, or to each worker by itself: a worker surveys them, and reads what has changed.
 *
 * @module
 */
import type { NewJob } from "./jobs.ts";

/** A cron entry as stored. */
export interface StoredCron {
  /** Names the entry. */
  readonly name: string;
  /** Increases with every change of the other fields except `seenAt` and `next`. Never the same again, not even after a removal. */
  readonly version: number;
  /** The entry's definition. The store doesn't parse it. */
  readonly definition: string;
  /** The entry's state. The store doesn't parse it. */
  readonly state: string;
  /** The job that was enqueued last for it, while it is in a queue, `scheduled`, `retry` or a lease. */
  readonly live: string | undefined;
  /** When a worker with this entry in its configuration last read it, or its definition was last written. */
  readonly seenAt: number;
  /** Whether any worker may decide on it. */
  readonly shared: boolean;
  /** The tags by which pages select it. */
  readonly tags: readonly string[];
  /** When to decide on it next, by the store's clock, a few seconds later while a worker has claimed it; undefined: not before it changes. */
  readonly next: number | undefined;
}

/** A change of one entry, with the jobs that follow from it. It is applied completely or not at all. */
export interface CronWrite {
  /** Names the entry. */
  readonly name: string;
  /** The version that was read; 0: the entry must not exist. If the version has changed, nothing happens. */
  readonly version: number;
  /** The new definition; absent: unchanged, with `shared` and `tags`. It wakes all waiters unless other shared entries are due earlier. */
  readonly definition?: string;
  /** Whether any worker may decide on it. Default false. */
  readonly shared?: boolean;
  /** Its tags, without line breaks. Default none. */
  readonly tags?: readonly string[];
  /** The new state. */
  readonly state: string;
  /** The job that was enqueued last for it in another store, and is in this one now. Ignored with `jobs`. */
  readonly live?: string;
  /** When to decide on it next; absent: not before it changes. */
  readonly next?: number | undefined;
  /** Jobs to enqueue in this order, without `at`, `delayMs` and `unique`. The last one becomes `live`; without jobs and `live` it stays. */
  readonly jobs: readonly NewJob[];
  /** Further jobs to enqueue, those of webhooks. */
  readonly follow?: readonly NewJob[];
  /** The members of events (`src/job/event.ts`). */
  readonly events?: readonly string[];
  /** Whether the end of `live` wakes all waiters. A shared entry is then due. */
  readonly awaited: boolean;
  /** Records to add to the log `cron:NAME` (`logs.ts`), oldest first. */
  readonly records: readonly string[];
}

/** The removal of an entry with its history. Its job stays where it is. All waiters wake unless it was shared. */
export interface CronRemoval {
  /** Names the entry. */
  readonly name: string;
  /** The version that was read. If it has changed, nothing happens. */
  readonly version: number;
  /** Distinguishes it from a change. */
  readonly remove: true;
}

/** The result of a read. */
export interface CronReading {
  /** The store's time. */
  readonly now: number;
  /** The entries. */
  readonly entries: readonly StoredCron[];
}

/** The result of a claim. */
export interface CronClaim extends CronReading {
  /** When the next shared entry is due; undefined if none will be. */
  readonly next: number | undefined;
}

/** The entries that aren't shared. */
export interface CronSurvey {
  /** The store's time. */
  readonly now: number;
  /** The latest time at which an entry was written. Later than `now`: the store's clock was ahead. */
  readonly latest: number;
  /** The entries, by name. */
  readonly entries: readonly Pick<StoredCron, "name" | "version" | "seenAt">[];
}

/** A request for a page of entries. */
export interface CronPageRequest {
  /** Their names begin with this. */
  readonly prefix?: string | undefined;
  /** They have this tag. */
  readonly tag?: string | undefined;
  /** Their order. `next` can't be combined with a prefix or a tag. Default `name`. */
  readonly sort?: "name" | "next" | undefined;
  /** The `next` of the page before. */
  readonly cursor?: string | undefined;
  /** Maximum number of entries. Default 100. */
  readonly limit?: number | undefined;
}

/** A page of entries. */
export interface CronPage extends CronReading {
  /** Pass it as `cursor` to get the next page; absent on the last. */
  readonly next?: string;
}

/** Maximum number of entries of a page. */
export const MAX_CRON_PAGE = 1_000;
/** Maximum number of entries and jobs that one step of a store writes, if it writes more than one entry: others wait for it. */
const MAX_ROWS_PER_STEP = 128;
/** Maximum size of what one step writes, in characters, if it writes more than one entry. */
const MAX_STEP_CHARACTERS = 256 * 1_024;

/** Returns writes in parts, each of which a store applies in one step. */
export function cronSteps(writes: readonly (CronWrite | CronRemoval)[]): (CronWrite | CronRemoval)[][] {
  const steps: (CronWrite | CronRemoval)[][] = [];
  let size = Infinity;
  let rows = Infinity;
  for (const write of writes) {
    const [ownSize, ownRows] = "remove" in write ? [0, 1] : [sizeOf(write), 1 + write.jobs.length];
    if (size + ownSize > MAX_STEP_CHARACTERS || rows + ownRows > MAX_ROWS_PER_STEP) {
      steps.push([]);
      size = rows = 0;
    }
    steps.at(-1)!.push(write);
    size += ownSize;
    rows += ownRows;
  }
  return steps;
}

function sizeOf({ definition = "", state, jobs, follow = [], records }: CronWrite): number {
  const payloads = [...jobs, ...follow].reduce((sum, { payload }) => sum + payload.length, 0);
  return definition.length + state.length + payloads + records.reduce((sum, text) => sum + text.length, 0);
}

/** A claimed entry is due again after this time, unless it is written before. */
export const CLAIM_MS = 3_000;

/** Stores the cron entries. */
export interface CronStore {
  /** Reads those of the entries that exist. */
  read(names: readonly string[]): Promise<CronReading>;

  /**
   * Reads a page of entries.
   *
   * @throws {CursorError} if the cursor isn't of this store
   */
  page(request?: CronPageRequest): Promise<CronPage>;

  /**
   * Returns the entries that aren't shared, without their contents.
   *
   * @param configured entries that this worker has in its configuration as stored: they are marked as seen now
   */
  survey(configured: readonly string[]): Promise<CronSurvey>;

  /** Returns shared entries that are due, the earliest first, at most `limit`. No other claim returns them for {@linkcode CLAIM_MS}. */
  claim(limit: number): Promise<CronClaim>;

  /**
   * Changes or removes entries, each whole or not at all. One round trip for every 64 with a job on Redis, fewer of large ones.
   *
   * @returns the new version of each, the last one of a removed entry; undefined for one that has changed since it was read,
   * which stays as it is
   */
  write(writes: readonly (CronWrite | CronRemoval)[]): Promise<(number | undefined)[]>;

  /** Makes all shared entries due, in small steps, because the store's clock was wrong. Then forgets the latest time of a write. */
  replan(): Promise<void>;
}
