/**
 * `jobs list done`: the history of finished jobs.
 *
 * @module
 */
import { systemClock } from "../../clock.ts";
import { formatDuration } from "../../job/duration.ts";
import { type EndedJob, readEnded } from "../../job/result.ts";
import { stringifyLossless } from "../../job/json.ts";
import { relative } from "../../text/times.ts";
import { faint, print, printJson } from "../terminal/output.ts";
import { type Column, printTable, STATE_COLOURS } from "../terminal/table.ts";
import type { Store } from "../../store/admin/store.ts";

const COLUMNS: readonly Column[] = [
  { heading: "ended", is: "whole" },
  { heading: "state", is: "whole", colours: STATE_COLOURS },
  { heading: "took", is: "optional" },
  { heading: "jid", is: "whole" },
  "class",
  "came to",
];

/** A page of the history, or what is found in it. */
export async function listFinished(
  store: Store,
  request: {
    readonly search: string | undefined;
    readonly cursor: string | undefined;
    readonly limit: number;
    readonly json: boolean;
  },
): Promise<number> {
  const { search, cursor, limit, json } = request;
  const page = search === undefined
    ? await store.results.page({ limit, ...(cursor !== undefined && { cursor }) })
    : { records: await store.results.search(search, limit) };
  const ended = page.records.map(readEnded);
  if (json) {
    printJson({ entries: ended, next: page.next });
    return 0;
  }
  const now = systemClock.now();
  printTable(
    COLUMNS,
    ended.map((job) => [
      relative(job.ended_at, now),
      job.state,
      job.elapsed_ms === undefined ? "" : formatDuration(job.elapsed_ms),
      job.jid,
      job.class,
      cameTo(job),
    ]),
    search === undefined ? "No finished jobs are known" : `No finished job with "${search}" is known`,
  );
  if (page.next !== undefined) print(faint(`more: --cursor ${page.next}`));
  return 0;
}

/** In a few words, what it came to. */
export function cameTo({ error, result }: EndedJob): string {
  return (error ? `${error.class}: ${error.message}` : stringifyLossless(result)) ?? "";
}
