/**
 * Jobs that have ended, as they are shown: masked, like everything of a job.
 *
 * @module
 */
import type { Context } from "hono";
import { type EndedJob, readEnded } from "../../job/result.ts";
import type { Services, WebEnv } from "../services.ts";
import { pageOf } from "./paging.ts";
import { lastLines, MAX_PARSED_CHARS } from "./job_view.ts";

/** One page of them. */
export interface FinishedList {
  readonly rows: readonly EndedJob[];
  readonly text: string;
  readonly cursor: string | undefined;
  /** Absent on the last page, and of what a search found. */
  readonly next: string | undefined;
}

/** The page that a request asks for. */
export async function endedOf(services: Services, c: Context<WebEnv>): Promise<FinishedList> {
  const text = (c.req.query("q") ?? "").trim().slice(0, 500);
  const page = pageOf(c);
  if (text === "") {
    const { records, next } = await services.store.results.page(page);
    return { rows: await showAll(records, services), text, cursor: page.cursor, next };
  }
  const found = await showAll(await services.store.results.search(text, page.limit), services);
  // What is behind the mask is not to be found out.
  const wanted = text.toLowerCase();
  return { rows: found.filter((row) => textOf(row).includes(wanted)), text, cursor: undefined, next: undefined };
}

/** The latest of them, to be summed up. */
export interface RecentEnded {
  /** The latest first. */
  readonly rows: readonly EndedJob[];
  /** False: there are more. */
  readonly whole: boolean;
}

/** So many are read at once, and so many in all. */
const WINDOW = 1_000;
const MAX_RECENT = 10_000;
/** A visitor waits no longer for them. */
const BUDGET_MS = 80;

/** The latest, as many as there is time for. */
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

/** The record of one job; undefined when it left none. */
export async function endedJob(services: Services, jid: string): Promise<EndedJob | undefined> {
  const record = await services.store.results.get(jid);
  return record === undefined ? undefined : show(record, services)[0];
}

/** Returns the name of a state of ended jobs: records say `done` for succeeded. */
export function endedState(state: string): string {
  return state === "done" ? "succeeded" : state;
}

/** The lines it logged, if its record has any. */
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

/** Returns the job of a record; nothing when it can't be read, or is too large to be parsed here. */
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
