/**
 * Alerts about jobs that run for far longer than usual, or occupy all processors of a worker, also while no job waits.
 *
 * @module
 */
import { formatDuration } from "../../job/duration.ts";
import { isLate } from "../../store/ops/late.ts";
import { ALL_QUEUES } from "../../store/port/paused_queues.ts";
import { number } from "../../text/format.ts";
import { stallCommand, stallHint, stallText } from "../../text/stalls.ts";
import { type Alert, MAX_OF_A_KIND, sentence, type Situation, stallCause } from "./alert.ts";
import { isStuck, longestOf, noEndMs, type Running, runningJobs, showJob } from "./running_jobs.ts";

/** A worker that has ended no job for longer is reported although no job waits. */
const OCCUPIED_MS = 300_000;

/** Jobs of a class run for far longer than usual. */
export function lateAlerts(situation: Situation): Alert[] {
  return [...Map.groupBy(runningJobs(situation).filter(isLateOne), (one) => one.class).values()]
    .toSorted((a, b) => b.length - a.length).slice(0, MAX_OF_A_KIND).map((jobs) => lateAlert(jobs, situation.now));
}

function isLateOne({ ageMs, usualMs }: Running): boolean {
  return isLate(ageMs, usualMs);
}

function lateAlert(jobs: readonly Running[], now: number): Alert {
  const longest = longestOf(jobs);
  const count = jobs.length === 1 ? "A job" : `${number(jobs.length)} jobs`;
  const usual = formatDuration(Math.max(1, Math.round(jobs[0]!.usualMs!)));
  return {
    kind: "warn",
    about: "jobs",
    cause: stallCause(longest),
    title: `${count} of class ${jobs[0]!.class} ${jobs.length === 1 ? "runs" : "run"} for far longer than usual`,
    detail: `99 % end within ${usual}. ${jobs.length === 1 ? "" : "The longest: "}${
      jobs.length === 1 ? sentence(stallText(longest, now)) : stallText(longest, now)
    }. ${sentence(stallHint(longest))}.`,
    command: stallCommand(longest),
    actions: showJob(longest),
  };
}

/** Workers with a stuck job on each processor, while jobs wait or for longer than {@linkcode OCCUPIED_MS}. */
export function occupiedAlerts(situation: Situation): Alert[] {
  const { stats, now } = situation;
  // Jobs of a queue at its limit wait for that.
  const waiting = stats.queues.filter(({ name, size, paused, limit }) =>
    name !== ALL_QUEUES && size > 0 && !paused && (limit === undefined || limit.freeInMs === 0)
  );
  return [...Map.groupBy(runningJobs(situation).filter(isStuck), ({ worker }) => worker)]
    .filter(([worker, stuck]) => stuck.length >= worker.concurrency && !worker.quiet)
    .flatMap(([worker, stuck]): Alert[] => {
      const doWait = waiting.some(({ name }) => worker.queues.includes(name));
      const sinceMs = noEndMs(stuck);
      if (!doWait && sinceMs < OCCUPIED_MS) return [];
      const longest = longestOf(stuck);
      return [{
        kind: "warn",
        about: "workers",
        cause: stallCause(longest),
        title: `No processor of ${worker.id} has become free for ${formatDuration(sinceMs)}${
          doWait ? ", and jobs wait" : ""
        }`,
        detail: `The longest: ${stallText(longest, now)}. ${sentence(stallHint(longest))}.`,
        command: stallCommand(longest),
        actions: showJob(longest),
      }];
    });
}
