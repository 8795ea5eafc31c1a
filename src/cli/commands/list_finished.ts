/**
 * `jobs list finished`: the records of jobs that have ended.
 *
 * @module
 */
import type { ResultStore } from "../../store/port/results.ts";
import { systemClock } from "../../clock.ts";
import { formatDuration } from "../../job/duration.ts";
import { stringifyLossless } from "../../job/json.ts";
import { type EndedJob, readEnded } from "../../job/result.ts";
import { compileFilter, isEmptyFilter, type JobFacts, type JobFilter } from "../../store/ops/filter.ts";

import { finishedJson, finishedState } from "../../text/job_json.ts";
import { localTime } from "../../text/times.ts";
import { describeFilterFlags, type FilterFlags, hasFilter, parseFilter } from "../shared/filter_flags.ts";
import { argsText } from "../shared/job_text.ts";
import { ListWriter } from "../shared/list_writer.ts";
import { type Column, STATE_COLORS } from "../terminal/table.ts";

const COLUMNS: readonly Column[] = [
  { heading: "jid", is: "whole" },
  { heading: "ended", is: "whole" },
  { heading: "state", is: "whole", colors: STATE_COLORS },
  { heading: "took", is: "optional" },
  { heading: "queue", is: "optional" },
  "job",
  "result",
];

/** Records read at once. */
const PAGE_SIZE = 500;

/** Lists finished jobs, the latest first. Returns the exit code. */
export async function listFinished(
  store: { readonly results: Pick<ResultStore, "page"> },
  request: {
    readonly flags: FilterFlags;
    readonly cursor: string | undefined;
    readonly limit: number;
    readonly json: boolean;
  },
): Promise<number> {
  const { flags, json } = request;
  const now = systemClock.now();
  const filter = parseFilter(flags, now);
  const writer = new ListWriter(json, COLUMNS);
  let left = request.limit;
  let next = request.cursor;
  for await (const page of finishedPages(store, filter, { cursor: next, limit: () => left })) {
    writer.write(page.jobs, finishedJson, (job) => finishedRow(job, now));
    left -= page.jobs.length;
    next = page.next;
    if (left <= 0 || next === undefined) break;
  }
  writer.end(next, hasFilter(flags) ? `No finished jobs ${describeFilterFlags(flags)}` : "No finished jobs");
  return 0;
}

/** Matching records of one page. */
export interface FinishedPage {
  readonly jobs: readonly EndedJob[];
  /** The cursor after the last one; absent at the end. */
  readonly next?: string | undefined;
}

/** Yields the matching records page by page, at most as many as `limit` returns before each page. */
export async function* finishedPages(
  store: { readonly results: Pick<ResultStore, "page"> },
  filter: JobFilter,
  { cursor: from, limit }: { readonly cursor?: string | undefined; readonly limit: () => number },
): AsyncGenerator<FinishedPage> {
  const matches = isEmptyFilter(filter) ? undefined : compileFilter(filter);
  for (let cursor = from;;) {
    // With a filter, whole pages are read. The last page is read again up to its last match, for the cursor after it.
    const size = matches === undefined ? Math.min(PAGE_SIZE, limit()) : PAGE_SIZE;
    const read = (count: number) => store.results.page({ limit: count, ...(cursor !== undefined && { cursor }) });
    const { records, next } = await read(size);
    const all = records.map((body) => ({ body, job: readEnded(body) }));
    const found = matches === undefined ? all : all.filter(({ job, body }) => matches(finishedFacts(job, body)));
    const missing = limit();
    if (found.length > missing) {
      const last = all.indexOf(found[missing - 1]!);
      yield { jobs: found.slice(0, missing).map(({ job }) => job), next: (await read(last + 1)).next };
      return;
    }
    yield { jobs: found.map(({ job }) => job), next };
    if (next === undefined) return;
    cursor = next;
  }
}

function finishedFacts(job: EndedJob, body: string): JobFacts {
  const tags = job.payload?.["tags"];
  return {
    class: job.class,
    queue: job.queue,
    group: String(job.payload?.["group"] ?? ""),
    error: job.error === undefined ? "" : `${job.error.class}: ${job.error.message}`,
    tags: Array.isArray(tags) ? tags.filter((tag) => typeof tag === "string") : [],
    text: () => body,
    since: job.endedAt,
  };
}

function finishedRow(job: EndedJob, now: number): unknown[] {
  return [
    job.jid,
    localTime(job.endedAt, now),
    finishedState(job),
    job.elapsedMs === undefined ? "" : formatDuration(job.elapsedMs),
    job.queue,
    finishedCall(job),
    resultText(job),
  ];
}

/** Returns `Import("a.csv", 5)`; the class alone if the record has no payload. */
export function finishedCall({ class: name, payload }: EndedJob): string {
  const args = payload?.["args"];
  return Array.isArray(args) ? `${name}(${argsText(args)})` : name;
}

/** Returns the result, or the error, in one line. */
export function resultText({ error, result }: EndedJob): string {
  return (error ? `${error.class}: ${error.message}` : stringifyLossless(result)) ?? "";
}
