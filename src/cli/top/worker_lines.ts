/**
 * A worker in full, line by line.
 *
 * @module
 */
import { formatBytes } from "../../job/bytes.ts";
import { formatDuration } from "../../job/duration.ts";
import { number } from "../../text/format.ts";
import { isoTime, relative } from "../../text/times.ts";
import { workerState } from "../../text/workers.ts";
import { glance } from "./job_summary.ts";
import type { WorkerInfo } from "../../store/port/workers.ts";

/** Returns the lines about a worker. `now` is in epoch milliseconds. */
export function workerLines(worker: WorkerInfo, now: number): string[] {
  const { totals = {} } = worker;
  const queues = worker.queues.map((queue) => worker.weights[queue] ? `${queue},${worker.weights[queue]}` : queue);
  const rows: [string, string][] = [
    ["worker", worker.id],
    ["tag", [worker.tag, ...worker.labels].filter(Boolean).join(" ")],
    ["state", workerState(worker)],
    ["running", `${worker.busy} of ${worker.concurrency}`],
    ["queues", queues.join(" ")],
    ["memory", formatBytes(worker.rss)],
    ["version", worker.version],
    ["started", `${relative(worker.startedAt, now)} (${isoTime(worker.startedAt)})`],
    ["heartbeat", relative(worker.heartbeatAt, now)],
    ...worker.work.map((job, i): [string, string] => [
      i === 0 ? "jobs" : "",
      `${job.task} ${glance(job).jid ?? ""} ${relative(job.since, now)} ${job.progress ?? ""}`.trimEnd(),
    ]),
    ...Object.entries(totals).map((
      [name, { succeeded, failed, cancelled, expired, workedMs }],
      i,
    ): [string, string] => [
      i === 0 ? "totals" : "",
      `${name}: ${number(succeeded)} succeeded, ${number(failed)} failed, ${number(cancelled)} cancelled, ` +
      `${number(expired)} expired, time spent ${formatDuration(workedMs)}`,
    ]),
  ];
  return rows.filter(([, value]) => value !== "").map(([name, value]) => `${name.padEnd(9)} ${value}`);
}
