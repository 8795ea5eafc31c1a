/**
 * The running jobs: the store's leases, with the progress that workers report.
 *
 * Leases are current. The jobs that a worker reports are as old as its last heartbeat, up to some seconds. Workers of
 * Sidekiq take no leases, so that their reports are the only source for the jobs that they run.
 *
 * @module
 */
import { getField } from "../../job/raw.ts";
import type { Entry, Page } from "../../store/port/entries.ts";
import type { RunningJobRecord, WorkerInfo } from "../../store/port/workers.ts";
import { isSidekiqWorker } from "../../text/workers.ts";
import { glance } from "./job_summary.ts";

export interface RunningJob {
  /** The same at each reading, and of no other running job. */
  readonly key: string;
  readonly payload: string;
  readonly queue: string;
  readonly worker: string;
  /** When it started, in epoch milliseconds. */
  readonly since: number;
  readonly progress?: string | undefined;
  readonly lastLine?: string | undefined;
}

export interface RunningJobs {
  readonly workers: readonly WorkerInfo[];
  readonly running: readonly RunningJob[];
  /** Whether more jobs run than `running` lists. */
  readonly hasMoreRunning: boolean;
}

/**
 * Returns the running jobs, longest running first, and the workers with as many running jobs as they hold leases, at most
 * their concurrency: a busy worker also leases jobs that it starts next.
 *
 * @param leased the first page of the leases. With a second one, workers keep the count that they reported.
 */
export function runningJobs(
  reported: readonly WorkerInfo[],
  leased: Page,
): RunningJobs {
  const reports = reportsByJid(reported);
  const leases = leased.entries.map((entry) => fromLease(entry, reports));
  const sidekiq = reported.filter(isSidekiqWorker).flatMap(({ id, work }) => work.map((job) => fromReport(id, job)));
  const running = [...leases, ...sidekiq].sort((a, b) => a.since - b.since || (a.key < b.key ? -1 : 1));
  if (leased.next !== undefined) return { workers: reported, running, hasMoreRunning: true };
  const counts = new Map<string, number>();
  for (const { worker } of leases) counts.set(worker, (counts.get(worker) ?? 0) + 1);
  const workers = reported.map((worker) =>
    isSidekiqWorker(worker) ? worker : { ...worker, busy: Math.min(counts.get(worker.id) ?? 0, worker.concurrency) }
  );
  return { workers, running, hasMoreRunning: false };
}

/** Returns the last report of each running job, by its jid. */
export function reportsByJid(workers: readonly WorkerInfo[]): Map<string, RunningJobRecord> {
  const work = workers.flatMap((worker) => worker.work);
  return new Map(work.map((job) => [String(getField(job.payload, "jid")), job]));
}

function fromLease(entry: Entry, reports: ReadonlyMap<string, RunningJobRecord>): RunningJob {
  const { jid = "", queue = "" } = glance(entry);
  const report = reports.get(jid);
  return {
    key: entry.ref,
    payload: entry.payload,
    queue,
    worker: entry.worker ?? "",
    since: entry.at ?? 0,
    progress: report?.progress,
    lastLine: report?.lastLine,
  };
}

function fromReport(worker: string, { task, payload, queue, since, progress, lastLine }: RunningJobRecord): RunningJob {
  return { key: `${worker} ${task} ${since}`, payload, queue, worker, since, progress, lastLine };
}
