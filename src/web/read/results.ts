/**
 * Reads the results of finished jobs, with secrets masked.
 *
 * @module
 */
import type { Context } from "hono";
import type { EndedJob } from "../../job/result.ts";
import type { Services, WebEnv } from "../services.ts";
import { finishedJobs, readFinished } from "../../operator/query/jobs.ts";
import { page } from "../../store/ops/scan.ts";
import { CRITERIA } from "../../operator/query/criteria.ts";
import { type Filter, jobFilter, parseFilter } from "./filter.ts";
import { lastLines } from "./job_view.ts";
import { pageOf, spanOf } from "./paging.ts";

/** A page of finished jobs. */
export interface FinishedList {
  readonly rows: readonly EndedJob[];
  readonly filter: Filter;
  readonly cursor: string | undefined;
  /** Absent on the last page, and after a search. */
  readonly next: string | undefined;
  /** How many results were read for this page. */
  readonly looked: number;
}

/** Returns the page of finished jobs that a request names. */
export async function endedOf(services: Services, c: Context<WebEnv>): Promise<FinishedList> {
  const filter = parseFilter(new URL(c.req.url).searchParams, CRITERIA);
  const source = finishedJobs(services, jobFilter(filter, services.clock.now()));
  const { rows, next, looked } = await page(source, services.clock, spanOf(services, c));
  return { rows: rows.flatMap((one) => one?.job ?? []), filter, cursor: pageOf(c).cursor, next, looked };
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
    const page = await services.store.results.read({ limit: WINDOW, ...(cursor === undefined ? {} : { cursor }) });
    const read = await services.slices.map(page.records, {
      weigh: ({ length }) => length,
      map: (record) => readFinished(record),
    });
    rows.push(...read.flatMap((one) => one?.job ?? []));
    cursor = page.next;
    await services.clock.turn();
  } while (cursor !== undefined && rows.length < MAX_RECENT && services.clock.monotonic() < until);
  return { rows, whole: cursor === undefined };
}

/** Returns the result of a job; undefined if none is kept. */
export async function endedJob(services: Services, jid: string): Promise<EndedJob | undefined> {
  const record = (await services.store.results.read({ jids: [jid] })).records[0];
  return record === undefined ? undefined : readFinished(record, services.mask)?.job;
}

/** Returns the lines that a failed program printed last; undefined if the result has none. Any program may have written it. */
export function outputLines(output: unknown): readonly string[] | undefined {
  return Array.isArray(output) ? output.filter((line) => typeof line === "string") : undefined;
}

/** Returns the log lines of a result; empty if it has none. */
export function logOf(job: EndedJob | undefined): readonly string[] {
  return Array.isArray(job?.log) ? lastLines(job.log) : [];
}
