/**
 * The lists of jobs, queued to dead, and of finished jobs, each with a filter.
 *
 * @module
 */
import { stringifyLossless } from "../../job/json.ts";
import { type EndedJob, readEnded } from "../../job/result.ts";
import type { AdminStore } from "../../store/admin/admin.ts";
import type { Entry, Place } from "../../store/port/entries.ts";
import type { ResultStore } from "../../store/port/results.ts";
import {
  compileEntryFilter,
  compileFilter,
  finishedFacts,
  isEmptyFilter,
  isPlainText,
  type JobFilter,
  type Mask,
  MAX_PARSED_CHARS,
  wordsOf,
} from "./filter.ts";
import type { Source } from "../../store/ops/scan.ts";

/** How lists are read. */
export interface Reader {
  readonly store: { readonly admin: Pick<AdminStore, "page">; readonly results: Pick<ResultStore, "read"> };
  /** Hides secrets: a filter matches only what is shown, so that it reveals none. Absent: nothing is hidden. */
  readonly mask?: Mask;
  /** Does long work in slices, for programs that do something else, too. */
  readonly slices?: {
    map<Item, Result>(
      items: readonly Item[],
      how: { weigh(item: Item): number; map(item: Item): Result },
    ): Promise<Result[]>;
  };
}

/** Returns the list of the jobs in a place. */
export function jobsIn(
  { store, mask, slices }: Pick<Reader, "mask" | "slices"> & { readonly store: Pick<Reader["store"], "admin"> },
  { place, filter = {}, reverse = false }: {
    readonly place: Place;
    readonly filter?: JobFilter;
    readonly reverse?: boolean;
  },
): Source<Entry> {
  const map = compileEntryFilter(filter, mask);
  const weigh = ({ payload }: Entry) => payload.length;
  return {
    weigh,
    read: async (page) => {
      const { entries, next } = await store.admin.page(place, { ...page, reverse });
      return { rows: entries, next };
    },
    match: isEmptyFilter(filter)
      ? undefined
      : async (entries) => await slices?.map(entries, { weigh, map }) ?? entries.map(map),
  };
}

/** A record of a finished job. */
export interface Finished {
  readonly job: EndedJob;
  /** As stored. */
  readonly record: string;
  /** Whether secrets in `job` are hidden. */
  readonly isMasked: boolean;
}

/**
 * Returns the list of the finished jobs, the latest first. With one word as its only criterion it has one page. Records that can't
 * be read are left out.
 */
export function finishedJobs(
  { store, mask, slices }: Pick<Reader, "mask" | "slices"> & { readonly store: Pick<Reader["store"], "results"> },
  filter: JobFilter = {},
): Source<Finished | undefined> {
  const matches = compileFilter(filter);
  const words = Object.keys(filter).length === 1 ? wordsOf(filter.q ?? "") : [];
  const word = words.length === 1 && isPlainText(words[0]!) ? words[0] : undefined;
  const fits = (one: Finished | undefined) => one !== undefined && matches(finishedFacts(one.job, () => textOf(one)));
  return {
    read: async (page) => {
      // The store reads no record that lacks the text. It searches what the mask hides, too.
      const { records, next } = word !== undefined
        ? await store.results.read({ text: word, limit: page.limit })
        : await store.results.read(page);
      const map = (record: string) => readFinished(record, mask);
      const rows = await slices?.map(records, { weigh: ({ length }) => length, map }) ?? records.map(map);
      return { rows, next };
    },
    match: (rows) => Promise.resolve(rows.map(fits)),
  };
}

/** Returns a record; undefined if it can't be read. A large one is not parsed where secrets are hidden: others wait there. */
export function readFinished(record: string, mask?: Mask): Finished | undefined {
  if (mask !== undefined && record.length > MAX_PARSED_CHARS) return undefined;
  try {
    const job: unknown = readEnded(record);
    if (typeof job !== "object" || job === null) return undefined;
    return { record, job: (mask === undefined ? job : mask.value(job)) as EndedJob, isMasked: mask !== undefined };
  } catch {
    return undefined;
  }
}

function textOf({ job, record, isMasked }: Finished): string {
  return isMasked ? stringifyLossless(job) ?? "" : record;
}
