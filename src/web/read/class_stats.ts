/**
 * Statistics of each class, from the results of finished jobs.
 *
 * @module
 */
import type { EndedJob } from "../../job/result.ts";
import { Histogram } from "../../job/histogram.ts";
import { readWireTime } from "../../job/raw.ts";

/** Percentiles and the maximum, in milliseconds. */
export interface Spread {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly longest: number;
}

/** One class. */
export interface ClassStats {
  readonly class: string;
  readonly count: number;
  /** Failed and dead jobs. */
  readonly failed: number;
  /** Durations of attempts; undefined if no result has one. */
  readonly run: Spread | undefined;
  /** Times between enqueueing and start; undefined if no result has one. */
  readonly wait: Spread | undefined;
  /** Attempts by duration, in the buckets of `job/histogram.ts`. */
  readonly histogram: readonly number[];
}

/** Summarizes results by class, the class with the most first. */
export function classStats(records: readonly EndedJob[]): ClassStats[] {
  const byClass = Map.groupBy(records, (record) => String(record.class));
  return [...byClass].map(([name, jobs]) => {
    const run = jobs.map((job) => job.elapsedMs).filter(isDuration);
    const histogram = new Histogram();
    for (const ms of run) histogram.add(ms);
    return {
      class: name,
      count: jobs.length,
      failed: jobs.filter((job) => job.state === "failed" || job.state === "dead").length,
      run: spread(run),
      wait: spread(jobs.map(waitOf).filter(isDuration)),
      histogram: histogram.counts,
    };
  }).sort((a, b) => b.count - a.count);
}

function waitOf({ startedAt, payload }: EndedJob): number | undefined {
  const enqueuedAt = readWireTime(payload?.enqueued_at);
  return typeof startedAt === "number" && enqueuedAt !== undefined ? Math.max(0, startedAt - enqueuedAt) : undefined;
}

function isDuration(ms: number | undefined): ms is number {
  return typeof ms === "number" && Number.isFinite(ms);
}

function spread(durations: readonly number[]): Spread | undefined {
  if (durations.length === 0) return undefined;
  const sorted = durations.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)]!;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), longest: sorted.at(-1)! };
}
