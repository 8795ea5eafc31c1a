/**
 * `jobs list finished`: the records of jobs that have ended.
 *
 * @module
 */
import type { ResultStore } from "../../store/port/results.ts";
import { systemClock } from "../../clock.ts";
import { formatDuration } from "../../job/duration.ts";
import { stringifyLossless } from "../../job/json.ts";
import type { EndedJob } from "../../job/result.ts";
import { finishedJobs } from "../../operator/query/jobs.ts";
import { page } from "../../store/ops/scan.ts";

import { finishedJson, finishedState } from "../../text/job_json.ts";
import { localTime } from "../../text/times.ts";
import { describeFilterFlags, type FilterFlags, hasFilter, parseFilter } from "../shared/filter_flags.ts";
import { argsText } from "../shared/job_text.ts";
import { ListWriter } from "../shared/list_writer.ts";
import type { Mask } from "../../text/mask.ts";
import { maskedEnded } from "../shared/masked.ts";
import type { Column } from "../terminal/table.ts";

const COLUMNS: readonly Column[] = [
  { heading: "jid", is: "whole" },
  { heading: "ended", is: "whole" },
  { heading: "state", is: "whole", isState: true },
  { heading: "took", is: "optional" },
  { heading: "queue", is: "optional" },
  "job",
  "result",
];

/** Records shown at once. */
const PAGE_SIZE = 500;

/** Lists finished jobs, the latest first. Returns the exit code. */
export async function listFinished(
  store: { readonly results: Pick<ResultStore, "read"> },
  request: {
    readonly flags: FilterFlags;
    readonly cursor: string | undefined;
    readonly limit: number;
    readonly json: boolean;
    readonly mask: Mask;
  },
): Promise<number> {
  const { flags, json, mask } = request;
  const now = systemClock.now();
  const filter = parseFilter(flags, now);
  const writer = new ListWriter(json, COLUMNS);
  let left = request.limit;
  let next = request.cursor;
  const source = finishedJobs({ store }, filter);
  do {
    const found = await page(source, systemClock, { cursor: next, limit: Math.min(left, PAGE_SIZE) });
    const shown = found.rows.flatMap((one) => one === undefined ? [] : [maskedEnded(one.job, mask)]);
    writer.write(shown, finishedJson, (job) => finishedRow(job, now));
    left -= found.rows.length;
    next = found.next;
  } while (left > 0 && next !== undefined);
  writer.end(next, hasFilter(flags) ? `No finished jobs ${describeFilterFlags(flags)}` : "No finished jobs");
  return 0;
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
