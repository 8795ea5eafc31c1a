/**
 * A process in full, line by line.
 *
 * @module
 */
import { formatDuration } from "../../job/duration.ts";
import { number } from "../../text/format.ts";
import { isoTime, relative } from "../../text/times.ts";
import { glance } from "./job_summary.ts";
import type { WorkerInfo } from "../../store/port/workers.ts";

/** What is known of it, as of `now`. */
export function processLines(process: WorkerInfo, now: number): string[] {
  const { totals = {} } = process;
  const queues = process.queues.map((queue) => process.weights[queue] ? `${queue},${process.weights[queue]}` : queue);
  const rows: [string, string][] = [
    ["process", process.identity],
    ["tag", [process.tag, ...process.labels].filter(Boolean).join(" ")],
    ["state", process.alive ? process.quiet ? "quiet: takes nothing new" : "running" : "dead, not yet cleared"],
    ["busy", `${process.busy} of ${process.concurrency}`],
    ["queues", queues.join(" ")],
    ["memory", `${Math.round(process.rss / 1024 / 1024)} MB`],
    ["version", process.version],
    ["started", `${relative(process.startedAt, now)} (${isoTime(process.startedAt)})`],
    ["beat", relative(process.beatAt, now)],
    ...process.work.map((job, i): [string, string] => [
      i === 0 ? "runs" : "",
      `${job.task} ${glance(job).jid ?? ""} ${relative(job.since, now)} ${job.progress ?? ""}`.trimEnd(),
    ]),
    ...Object.entries(totals).map(([name, { done, failed, cancelled, expired, workedMs }], i): [string, string] => [
      i === 0 ? "done" : "",
      `${name}: ${number(done)} done, ${number(failed)} failed, ${number(cancelled)} cancelled, ` +
      `${number(expired)} expired, worked ${formatDuration(workedMs)}`,
    ]),
  ];
  return rows.filter(([, value]) => value !== "").map(([name, value]) => `${name.padEnd(8)} ${value}`);
}
