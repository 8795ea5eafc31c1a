/**
 * Workers as the command line and the dashboard show them.
 *
 * @module
 */

import type { Entry } from "../store/port/entries.ts";
import { CANCELLED_WORKER, type ClassTotals, type RunningJobRecord, type WorkerInfo } from "../store/port/workers.ts";
import type { JsonOf } from "../operator/shapes/shape.ts";
import type { workerShape } from "../operator/shapes/workers.ts";
import { asText } from "../log/value.ts";
import { formatBytes } from "../job/bytes.ts";
import { formatDuration } from "../job/duration.ts";
import { getField } from "../job/raw.ts";
import { type Columns, timeColumn } from "./columns.ts";
import { maskError } from "./mask.ts";
import { isoTime } from "./times.ts";

/** The state of a cancelled job whose worker is gone. */
export const ENDED_BY_RESCUE = "cancelled; the next rescue by a worker ends it";

/** Returns whether a job was cancelled, and no worker runs it any more: it counts as running until a rescue. */
export function isEndedByRescue({ worker }: Pick<Entry, "worker">): boolean {
  return worker === CANCELLED_WORKER;
}

/** Returns whether it is a worker of Sidekiq, which reports no totals and answers no commands. */
export function isSidekiqWorker({ totals }: Pick<WorkerInfo, "totals">): boolean {
  return totals === undefined;
}

/** Returns the message about the dump of a Sidekiq worker, which only writes to its log. */
export function dumpsElsewhere(workerId: string): string {
  return `${workerId} is a worker of Sidekiq: it writes the dump of its threads to Sidekiq's log`;
}

/**
 * Returns `running`, `quiet`, `stopping`, `blocked` while a handler blocks its event loop, or `offline` if its heartbeat has
 * lapsed.
 */
export function workerState(
  { alive, quiet, stopping, blocked }: Pick<WorkerInfo, "alive" | "quiet" | "stopping" | "blocked">,
): "offline" | "blocked" | "stopping" | "quiet" | "running" {
  if (!alive) return "offline";
  return blocked !== undefined ? "blocked" : stopping ? "stopping" : quiet ? "quiet" : "running";
}

/** Returns ` for 5m`: how long all of these workers have been quiet; empty if that is unknown. */
export function quietFor(workers: readonly Partial<Pick<WorkerInfo, "quietSince">>[], now: number): string {
  const since = workers.map(({ quietSince }) => quietSince);
  const known = since.filter((at) => at !== undefined);
  if (known.length === 0 || known.length < since.length) return "";
  return ` for ${formatDuration(Math.max(0, now - Math.max(...known)))}`;
}

/** A younger heartbeat isn't late. */
const MIN_LATE_MS = 10_000;
/** Of Sidekiq. */
const FOREIGN_HEARTBEAT_MS = 10_000;

/** Returns whether two heartbeats of an online worker are missing: it may have ended. */
export function isLate(
  { alive, heartbeatAt, heartbeatMs = FOREIGN_HEARTBEAT_MS }: Pick<WorkerInfo, "alive" | "heartbeatAt" | "heartbeatMs">,
  now: number,
): boolean {
  return alive && now - heartbeatAt >= Math.max(MIN_LATE_MS, 2 * heartbeatMs);
}

/** Returns why a worker may not follow a command, as a clause that follows the subject; undefined if it is as well as it seems. */
export function goneText(
  worker: Pick<WorkerInfo, "alive" | "heartbeatAt" | "heartbeatMs">,
  now: number,
): string | undefined {
  const ago = formatDuration(Math.max(0, now - worker.heartbeatAt));
  if (!worker.alive) {
    return `is offline, its last heartbeat was ${ago} ago: an online worker rescues its jobs within seconds`;
  }
  return isLate(worker, now)
    ? `sent its last heartbeat ${ago} ago: it has ended, or it is frozen or cut off from the store`
    : undefined;
}

/** A younger heartbeat is current. */
const FRESH_MS = 2_000;

/** Returns `, as of 4s ago`: the age of the latest of these heartbeats; empty if it is current, or unknown. */
export function asOf(workers: readonly Partial<Pick<WorkerInfo, "heartbeatAt">>[], now: number): string {
  const ageMs = now - Math.max(...workers.map(({ heartbeatAt }) => heartbeatAt ?? now));
  return ageMs < FRESH_MS || ageMs === Infinity ? "" : `, as of ${formatDuration(ageMs)} ago`;
}

/** The columns of a list of workers. */
export const WORKER_COLUMNS = {
  worker: { text: ({ id }) => id, is: "whole" },
  running: { text: ({ busy, concurrency }) => `${busy}/${concurrency}`, isAmount: true, is: "whole" },
  state: { text: (worker) => workerState(worker), isState: true, is: "whole" },
  queues: { text: (worker) => queueNames(worker) },
  heartbeat: timeColumn(({ heartbeatAt }) => heartbeatAt, "optional"),
  tag: { text: (worker) => tagsOf(worker).join(" "), is: "optional" },
  succeeded: { text: (worker) => total(worker, "succeeded"), is: "optional" },
  failed: { text: (worker) => total(worker, "failed"), is: "optional" },
  started: timeColumn(({ startedAt }) => startedAt, "optional"),
  memory: { text: ({ rss }) => formatBytes(rss), isAmount: true, is: "optional" },
  "time spent": {
    text: (worker) => {
      const spent = total(worker, "workedMs");
      return spent === undefined ? undefined : formatDuration(spent);
    },
    isAmount: true,
    is: "optional",
  },
  version: { text: ({ version }) => version.slice(0, MAX_WORD_CHARS), is: "optional" },
} as const satisfies Columns<WorkerInfo>;

/** Bounds on a worker's record, which may contain anything. */
const MAX_TAGS = 20;
const MAX_WORD_CHARS = 200;
const MAX_QUEUES = 30;

/** Returns the tag and the labels of a worker, each cut. */
export function tagsOf({ tag, labels }: WorkerInfo): string[] {
  return [tag, ...labels].filter(Boolean).slice(0, MAX_TAGS).map((word) => word.slice(0, MAX_WORD_CHARS));
}

function queueNames({ queues, weights }: WorkerInfo): string {
  const words = queues.slice(0, MAX_QUEUES).map((queue) => {
    const name = queue.slice(0, MAX_WORD_CHARS);
    return weights[queue] ? `${name} ×${weights[queue]}` : name;
  });
  return words.join(", ") + (queues.length > MAX_QUEUES ? ` and ${queues.length - MAX_QUEUES} more` : "");
}

/** Returns a total over all classes; undefined for Sidekiq's workers, which don't report them. */
function total({ totals }: WorkerInfo, field: keyof ClassTotals): number | undefined {
  return totals && Object.values(totals).reduce((sum, one) => sum + one[field], 0);
}

/** Returns a worker as JSON; `jobJson` represents its running jobs. */
export function workerJson(worker: WorkerInfo): JsonOf<typeof workerShape>;
export function workerJson<Job>(
  worker: WorkerInfo,
  jobJson: (job: RunningJobRecord) => Job,
): Omit<JsonOf<typeof workerShape>, "jobs"> & { readonly jobs: readonly Job[] };
export function workerJson(worker: WorkerInfo, jobJson: (job: RunningJobRecord) => unknown = runningJson): unknown {
  const { id, hostname, pid, tag, labels, queues, weights, concurrency, version, totals } = worker;
  return {
    id,
    hostname,
    pid,
    tag,
    labels,
    state: workerState(worker),
    quietSince: isoTime(worker.quietSince),
    queues,
    weights,
    concurrency,
    version,
    startedAt: isoTime(worker.startedAt),
    heartbeatAt: isoTime(worker.heartbeatAt),
    blocked: worker.blocked && {
      since: isoTime(worker.blocked.since),
      processor: worker.blocked.task,
      class: worker.blocked.class,
      jid: worker.blocked.jid,
    },
    circuits: worker.circuits?.map(({ error, since, ...circuit }) => (
      { ...circuit, error: maskError(error), since: isoTime(since)! }
    )),
    outbox: worker.outbox && {
      ...worker.outbox,
      ...(worker.outbox.error !== undefined && { error: maskError(worker.outbox.error) }),
      since: isoTime(worker.outbox.since),
    },
    running: worker.busy,
    memoryBytes: worker.rss,
    jobs: worker.work.map(jobJson),
    totals: totals &&
      Object.fromEntries(
        Object.entries(totals).map(([name, { succeeded, failed, cancelled, expired, workedMs }]) => [
          name,
          { succeeded, failed, cancelled, expired, timeSpentMs: workedMs },
        ]),
      ),
  };
}

function runningJson(job: RunningJobRecord): JsonOf<typeof workerShape>["jobs"][number] {
  return {
    processor: job.task,
    jid: textIn(job, "jid"),
    class: textIn(job, "class"),
    queue: job.queue,
    startedAt: isoTime(job.since)!,
    progress: job.progress,
    lastLine: job.lastLine,
    log: job.log,
    abortReason: job.abortReason,
    abortedAt: isoTime(job.abortedAt),
  };
}

function textIn({ payload }: RunningJobRecord, name: string): string | undefined {
  const value = getField(payload, name);
  return value === undefined ? undefined : asText(value);
}
