/**
 * Running jobs of online workers, and those among them that have not ended for long: the span of time that a snapshot has. A job's age
 * proves that its processor has ended nothing since.
 *
 * @module
 */
import { performedIn } from "../../job/job.ts";
import { LATE_FACTOR, usualMs } from "../../store/ops/late.ts";
import { LONG_RUN_MS, longestRunning, type Stall } from "../../store/ops/stalls.ts";
import type { RunningJobRecord, WorkerInfo } from "../../store/port/workers.ts";
import { number } from "../../text/format.ts";
import { formatDuration } from "../../job/duration.ts";
import type { Alert, Situation } from "./alert.ts";

/** A running job, its worker and the duration that is usual for its class. */
export interface Running {
  readonly worker: WorkerInfo;
  readonly job: RunningJobRecord;
  readonly class: string;
  readonly ageMs: number;
  /** Undefined if it isn't known. */
  readonly usualMs: number | undefined;
}

/** Returns the running jobs, except those whose signal has aborted and those of blocked loops, which have alerts. */
export function runningJobs({ workers, metrics, now }: Situation): Running[] {
  const usual = new Map(metrics.map((one) => [one.class, usualMs(one.histogram)]));
  return workers.filter(({ alive, blocked }) => alive && blocked === undefined).flatMap((worker) =>
    worker.work.filter(({ abortReason }) => abortReason === undefined).map((job) => {
      const name = classOf(job);
      return { worker, job, class: name, ageMs: now - job.since, usualMs: usual.get(name) };
    })
  );
}

function classOf({ payload }: RunningJobRecord): string {
  return performedIn(payload)?.slice(0, 200) ?? "(unreadable)";
}

/** Returns whether a job may hang: it has run for long, and for far longer than usual if that is known. */
export function isStuck({ ageMs, usualMs }: Running): boolean {
  return ageMs >= Math.max(LONG_RUN_MS, LATE_FACTOR * (usualMs ?? 0));
}

/** Returns the job that has run longest. */
export function longestOf(jobs: readonly Running[]): Stall {
  return longestRunning(jobs.map(({ worker: { id, alive }, job }) => ({ id, alive, work: [job] })))!;
}

/** Returns how long none of these jobs has ended, in milliseconds: the age of the youngest. */
export function noEndMs(jobs: readonly Running[]): number {
  return Math.min(...jobs.map(({ ageMs }) => ageMs));
}

/** Returns `its 5 running jobs have not ended for 4m44s`, or `5 of its 6 running jobs have …`. @param of the jobs that run in all */
export function notEndedText(stuck: readonly Running[], of: number): string {
  const one = stuck.length === 1;
  const jobs = stuck.length < of
    ? `${number(stuck.length)} of its ${number(of)} running jobs`
    : one
    ? "its running job"
    : `its ${number(stuck.length)} running jobs`;
  return `${jobs} ${one ? "has" : "have"} not ended for ${formatDuration(noEndMs(stuck))}`;
}

/** Returns links to the workers, and to the job. */
export function showJob({ jid }: Stall): Alert["actions"] {
  return [
    { label: "Show workers", path: "/workers" },
    ...jid === undefined ? [] : [{ label: "Show job", path: `/jobs/${encodeURIComponent(jid)}` }],
  ];
}
