/**
 * `jobs list finished`: the records of jobs that have ended.
 *
 * @module
 */
import type { ResultStore } from "../../store/port/results.ts";
import { systemClock } from "../../clock.ts";
import { finishedJobs } from "../../operator/query/jobs.ts";
import { page } from "../../store/ops/scan.ts";

import { FINISHED_COLUMNS, finishedJson } from "../../text/finished.ts";
import { describeFilterFlags, type FilterFlags, hasFilter, parseFilter } from "../shared/filter_flags.ts";
import { SearchWork } from "../shared/search_work.ts";
import { ListWriter } from "../shared/list_writer.ts";
import type { Mask } from "../../text/mask.ts";
import { maskedEnded } from "../shared/masked.ts";

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
  const filter = parseFilter(flags, systemClock.now());
  const writer = new ListWriter(json, FINISHED_COLUMNS, finishedJson);
  let left = request.limit;
  let next = request.cursor;
  using work = new SearchWork({ drawn: hasFilter(flags) });
  const { signal } = work;
  const source = work.through(finishedJobs({ store }, filter));
  do {
    const found = await page(source, systemClock, { cursor: next, limit: Math.min(left, PAGE_SIZE), signal });
    work.clear();
    const shown = found.rows.flatMap((one) => one === undefined ? [] : [maskedEnded(one.job, mask)]);
    writer.write(shown);
    left -= found.rows.length;
    next = found.next;
  } while (left > 0 && next !== undefined && !signal.aborted);
  work.clear();
  writer.end(next, hasFilter(flags) ? `No finished jobs ${describeFilterFlags(flags)}` : "No finished jobs");
  return work.end();
}
