/**
 * Jobs of the store as rows of lists.
 *
 * @module
 */
import type { RunningJobRecord } from "../../store/port/workers.ts";
import { readWireTime } from "../../job/raw.ts";
import type { Entry } from "../../store/port/entries.ts";
import type { JobRow } from "../../text/jobs.ts";
import type { Mask } from "../../text/mask.ts";
import { glance } from "../top/job_summary.ts";

/** The reports of workers about running jobs. */
export interface Reports {
  /** By jid. */
  readonly running?: ReadonlyMap<string, RunningJobRecord>;
  /** Masks them. */
  readonly mask?: Mask;
}

/** Returns what the worker of a running job has reported about it, as JSON. */
export function reportJson(
  entry: Entry,
  { running, mask }: Reports,
): { readonly progress?: string | undefined; readonly lastLine?: string | undefined } {
  const { progress, lastLine } = running?.get(glance(entry).jid ?? "") ?? {};
  const shown = (text: string | undefined) => text === undefined ? undefined : mask?.text(text) ?? text;
  return { progress: shown(progress), lastLine: shown(lastLine) };
}

/** Returns the row of a job. */
export function jobRow(entry: Entry, { running, mask }: Reports = {}): JobRow {
  const { place, at, worker } = entry;
  const { jid = "", queue = "", call, failure, failures, enqueuedAt } = glance(entry);
  const report = running?.get(jid);
  const progress = report?.progress ?? report?.lastLine ?? "";
  return {
    jid,
    queue: place.in === "queue" ? place.queue : queue,
    call,
    error: failure,
    failures,
    at,
    enqueuedAt: readWireTime(enqueuedAt),
    worker,
    progress: mask?.text(progress) ?? progress,
  };
}
