/**
 * Reads the results of finished jobs, with secrets masked.
 *
 * @module
 */
import type { Context } from "hono";
import { type EndedJob, readEnded } from "../../job/result.ts";
import type { Services, WebEnv } from "../services.ts";
import { ageMs, matchesError } from "./filter.ts";
import { pageOf } from "./paging.ts";
import { FINISHED_FILTERS, matchesRecord, readRecords, type RecordFilter, recordFilterOf } from "./record_filter.ts";
import { lastLines, MAX_PARSED_CHARS } from "./job_view.ts";

/** A page of finished jobs. */
export interface FinishedList {
  readonly rows: readonly EndedJob[];
  /** The text searched for; may be empty. */
  readonly text: string;
  readonly filter: RecordFilter<keyof typeof FINISHED_FILTERS>;
  readonly cursor: string | undefined;
  /** Absent on the last page, and after a search. */
  readonly next: string | undefined;
  /** How many results were read for this page. */
  readonly looked: number;
}

/** Returns the page of finished jobs that a request names. */
export async function endedOf(services: Services, c: Context<WebEnv>): Promise<FinishedList> {
  const text = (c.req.query("q") ?? "").trim().slice(0, 500);
  const filter = recordFilterOf(c, FINISHED_FILTERS);
  const matches = recordMatcher(filter, services.clock.now());
  if (text !== "") {
    const found = await showAll(await services.store.results.search(text, pageOf(c).limit), services);
    // The store searches unmasked text. Without this, a search could reveal a masked value.
    const needle = text.toLowerCase();
    const rows = found.filter((row) => textOf(row).includes(needle) && matches(row));
    return { rows, text, filter, cursor: undefined, next: undefined, looked: found.length };
  }
  const read = async (page: { readonly limit: number; readonly cursor?: string }) => {
    const { records, next } = await services.store.results.page(page);
    return { rows: await showAll(records, services), ...(next !== undefined && { next }) };
  };
  const isFiltered = Object.keys(filter).length > 0;
  const { rows, next, looked } = await readRecords(services, c, read, isFiltered ? matches : undefined);
  return { rows, text, filter, cursor: pageOf(c).cursor, next, looked };
}

/** Returns a test for results at the time `now`. */
function recordMatcher(
  { error, tag, older, newer, ...exact }: RecordFilter<keyof typeof FINISHED_FILTERS>,
  now: number,
): (row: EndedJob) => boolean {
  const olderMs = ageMs({ older }, "older");
  const newerMs = ageMs({ newer }, "newer");
  return (row) => {
    if (!matchesRecord(exact, (name) => String(row[name]))) {
      return false;
    }
    if (error !== undefined && (row.error === undefined || !matchesError(errorOf(row.error), error.toLowerCase()))) {
      return false;
    }
    const tags: unknown = row.payload?.["tags"];
    if (tag !== undefined && !(Array.isArray(tags) && tags.includes(tag))) return false;
    const age = now - row.endedAt;
    return (olderMs === undefined || age >= olderMs) && (newerMs === undefined || age <= newerMs);
  };
}

function errorOf({ class: name, message }: NonNullable<EndedJob["error"]>): string {
  return `${name}: ${message}`.toLowerCase();
}

/** The latest results, for statistics. */
export interface RecentEnded {
  /** The latest first. */
  readonly rows: readonly EndedJob[];
  /** Whether these are all results. */
  readonly whole: boolean;
}

/** Results read at once, and in total. */
const WINDOW = 1_000;
const MAX_RECENT = 10_000;
/** The longest time to read them. */
const BUDGET_MS = 80;

/** Returns the latest results, as many as it can read in {@linkcode BUDGET_MS}. */
export async function recentEnded(services: Services): Promise<RecentEnded> {
  const until = services.clock.monotonic() + BUDGET_MS;
  const rows: EndedJob[] = [];
  let cursor: string | undefined;
  do {
    const page = await services.store.results.page({ limit: WINDOW, ...(cursor === undefined ? {} : { cursor }) });
    const read = await services.slices.map(page.records, { weigh: ({ length }) => length, map: readRecord });
    rows.push(...read.flat());
    cursor = page.next;
    await services.clock.turn();
  } while (cursor !== undefined && rows.length < MAX_RECENT && services.clock.monotonic() < until);
  return { rows, whole: cursor === undefined };
}

/** Returns the result of a job; undefined if none is kept. */
export async function endedJob(services: Services, jid: string): Promise<EndedJob | undefined> {
  const record = await services.store.results.get(jid);
  return record === undefined ? undefined : show(record, services)[0];
}

/** Returns the log lines of a result; empty if it has none. */
export function logOf(job: EndedJob | undefined): readonly string[] {
  return Array.isArray(job?.log) ? lastLines(job.log) : [];
}

async function showAll(records: readonly string[], services: Services): Promise<EndedJob[]> {
  const map = (record: string) => show(record, services);
  return (await services.slices.map(records, { weigh: ({ length }) => length, map })).flat();
}

function show(record: string, { mask }: Services): EndedJob[] {
  return readRecord(record).map((job) => mask.value(job) as EndedJob);
}

/** Returns the job of a record; nothing if it is invalid, or too large to be parsed here. */
function readRecord(record: string): EndedJob[] {
  if (record.length > MAX_PARSED_CHARS) return [];
  try {
    const job = readEnded(record);
    return typeof job === "object" && job !== null ? [job] : [];
  } catch {
    return [];
  }
}

function textOf(row: EndedJob): string {
  return JSON.stringify(row, (_key, value) => typeof value === "bigint" ? String(value) : value).toLowerCase() +
    `\n${row.error?.message.toLowerCase() ?? ""}`;
}
