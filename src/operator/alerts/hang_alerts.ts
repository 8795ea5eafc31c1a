/**
 * Alerts about jobs that run for far longer than usual, before a queue is behind because of them.
 *
 * @module
 */
import { formatDuration } from "../../job/duration.ts";
import { isLate, LATE_FACTOR, usualMs } from "../../store/ops/late.ts";
import { longestRunning, type Stall } from "../../store/ops/stalls.ts";
import { ALL_QUEUES } from "../../store/port/paused_queues.ts";
import type { RunningJobRecord, WorkerInfo } from "../../store/port/workers.ts";
import { number } from "../../text/format.ts";
import { stallCommand, stallHint, stallText } from "../../text/stalls.ts";
import { performedIn } from "../../job/job.ts";
import { type Alert, MAX_OF_A_KIND, sentence, type Situation } from "./alert.ts";
import { BEHIND_MS } from "./queue_alerts.ts";

/** A job of a class without a usual duration occupies its processor for long. */
const LONG_MS = 10_000;

/** A running job, its worker and the duration that is usual for its class. */
interface Running {
  readonly worker: WorkerInfo;
  readonly job: RunningJobRecord;
  readonly class: string;
  readonly ageMs: number;
  /** Undefined if it isn't known. */
  readonly usualMs: number | undefined;
}

/** Jobs of a class run for far longer than usual; or all processors of a worker are occupied for long while jobs wait. */
export function hangAlerts(situation: Situation): Alert[] {
  const running = runningJobs(situation);
  const late = new Map<string, Running[]>();
  for (const one of running.filter((job) => isLate(job.ageMs, job.usualMs))) {
    late.set(one.class, [...late.get(one.class) ?? [], one]);
  }
  const alerts = [...late.values()].toSorted((a, b) => b.length - a.length).slice(0, MAX_OF_A_KIND)
    .map((jobs) => lateAlert(jobs, situation.now));
  return [...alerts, ...occupiedAlerts(running.filter((one) => !late.has(one.class)), situation)];
}

function runningJobs({ workers, metrics, now }: Situation): Running[] {
  const usual = new Map(metrics.map((one) => [one.class, usualMs(one.histogram)]));
  // Jobs whose signal has aborted, and blocked loops, have alerts.
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

function lateAlert(jobs: readonly Running[], now: number): Alert {
  const longest = longestOf(jobs);
  const count = jobs.length === 1 ? "A job" : `${number(jobs.length)} jobs`;
  const usual = formatDuration(Math.max(1, Math.round(jobs[0]!.usualMs!)));
  return {
    kind: "warn",
    about: "jobs",
    title: `${count} of class ${jobs[0]!.class} ${jobs.length === 1 ? "runs" : "run"} for far longer than usual`,
    detail: `99 % end within ${usual}. ${jobs.length === 1 ? "" : "The longest: "}${
      jobs.length === 1 ? sentence(stallText(longest, now)) : stallText(longest, now)
    }. ${sentence(stallHint(longest))}.`,
    command: stallCommand(longest),
    actions: showJob(longest),
  };
}

/** Workers with a long job on each processor, while jobs wait. If their queue is behind, that alert names the longest. */
function occupiedAlerts(jobs: readonly Running[], { stats, now }: Situation): Alert[] {
  const waiting = stats.queues.filter(({ name, size, paused }) => name !== ALL_QUEUES && size > 0 && !paused);
  const behind = new Set(waiting.filter(({ latencyMs }) => latencyMs >= BEHIND_MS).map(({ name }) => name));
  const isLong = ({ ageMs, usualMs }: Running) => ageMs >= Math.max(LONG_MS, LATE_FACTOR * (usualMs ?? 0));
  return [...Map.groupBy(jobs.filter(isLong), ({ worker }) => worker)].filter(([worker, long]) =>
    long.length >= worker.concurrency && !worker.quiet && waiting.some(({ name }) => worker.queues.includes(name)) &&
    !worker.queues.some((name) => behind.has(name))
  ).slice(0, MAX_OF_A_KIND).map(([worker, long]) => {
    const longest = longestOf(long);
    const [newest] = long.map(({ ageMs }) => ageMs).toSorted((a, b) => a - b);
    return {
      kind: "warn",
      about: "workers",
      title: `No processor of ${worker.id} has become free for ${formatDuration(newest!)}, and jobs wait`,
      detail: `The longest: ${stallText(longest, now)}. ${sentence(stallHint(longest))}.`,
      command: stallCommand(longest),
      actions: showJob(longest),
    };
  });
}

function longestOf(jobs: readonly Running[]): Stall {
  return longestRunning(jobs.map(({ worker: { id, alive }, job }) => ({ id, alive, work: [job] })))!;
}

function showJob({ jid }: Stall): Alert["actions"] {
  return [
    { label: "Show workers", path: "/workers" },
    ...jid === undefined ? [] : [{ label: "Show job", path: `/jobs/${encodeURIComponent(jid)}` }],
  ];
}
