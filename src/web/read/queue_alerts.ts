/**
 * Alerts about queues.
 *
 * @module
 */
import { formatDuration } from "../../job/duration.ts";
import type { QueueInfo } from "../../store/admin/admin.ts";
import { ALL_QUEUES } from "../../store/port/paused_queues.ts";
import { number } from "../../text/format.ts";
import type { Alert, AlertAction, Situation } from "./alert.ts";

/** A queue whose oldest job has waited longer than this is behind. */
const SLOW_MS = 60_000;
/** Alerts about single queues. The page of queues shows the rest. */
const MAX_QUEUE_ALERTS = 8;
/** A command names at most this many workers. */
const MAX_WORKERS = 3;
/** More queues than this that are behind share an alert. */
const MAX_BEHIND = 3;

/** Returns the problems of queues: paused, without a worker, behind. */
export function queueAlerts({ stats, workers }: Situation): Alert[] {
  const online = workers.filter((worker) => worker.alive);
  const fetched = new Set(online.filter((worker) => !worker.quiet).flatMap((worker) => worker.queues));
  const alerts: Alert[] = [];
  if (stats.queues.some(({ name, paused }) => name === ALL_QUEUES && paused)) {
    alerts.push({
      kind: "bad",
      title: "All queues are paused",
      actions: [{ label: "Resume all queues", path: "/queues/resume", acts: true }],
    });
  }
  const filled = stats.queues.filter(({ name, size }) => size > 0 && name !== ALL_QUEUES);
  for (const queue of filled) {
    const alert = pausedAlert(queue) ??
      (online.length > 0 && !fetched.has(queue.name) ? unfetchedAlert(queue, online) : undefined);
    if (alert !== undefined && alerts.length < MAX_QUEUE_ALERTS) alerts.push(alert);
  }
  // Without a worker all queues fall behind: that alert says enough.
  const behind = filled.filter(({ name, paused, latencyMs }) => fetched.has(name) && !paused && latencyMs > SLOW_MS);
  return [...alerts, ...behind.length > MAX_BEHIND ? [manyBehind(behind)] : behind.map(behindAlert)];
}

function pathOf(name: string): string {
  return `/queues/${encodeURIComponent(name)}`;
}

function showAction(name: string): AlertAction {
  return { label: "Show queue", path: pathOf(name) };
}

function waitingText({ size }: QueueInfo): string {
  return `${number(size)} ${size === 1 ? "job" : "jobs"} waiting`;
}

function pausedAlert(queue: QueueInfo): Alert | undefined {
  const { name, paused } = queue;
  if (!paused) return undefined;
  const resume: AlertAction = { label: `Resume queue ${name}`, path: `${pathOf(name)}/resume`, acts: true };
  return {
    kind: "warn",
    title: `Queue "${name}" is paused (${waitingText(queue)})`,
    actions: [resume, showAction(name)],
  };
}

/** `online`: none of these workers fetches from the queue. */
function unfetchedAlert(queue: QueueInfo, online: Situation["workers"]): Alert {
  const { name } = queue;
  const quiet = online.filter(({ queues, stopping }) => queues.includes(name) && !stopping);
  if (quiet.length > 0) {
    return {
      kind: "bad",
      title: `All workers of queue "${name}" are quiet (${waitingText(queue)})`,
      detail: "Resume them:",
      command: `jobs resume ${quiet.slice(0, MAX_WORKERS).map(({ id }) => `--worker ${id}`).join(" ")}`,
      actions: [{ label: "Show workers", path: "/workers" }, showAction(name)],
    };
  }
  return {
    kind: "bad",
    title: `Queue "${name}" has no worker (${waitingText(queue)})`,
    detail: "Move the jobs to another queue, or start a worker:",
    command: `jobs run -q ${name}`,
    actions: [showAction(name)],
  };
}

function behindAlert(queue: QueueInfo): Alert {
  const { name, latencyMs, limit } = queue;
  const isLimited = limit !== undefined && limit.freeInMs !== 0;
  return {
    kind: "warn",
    title: `Queue "${name}" is ${formatDuration(latencyMs)} behind (${waitingText(queue)})`,
    ...(isLimited && { detail: "It is at its limit: jobs wait until running ones end." }),
    actions: [isLimited ? { label: "Change the limit", path: pathOf(name) } : showAction(name)],
  };
}

function manyBehind(queues: readonly QueueInfo[]): Alert {
  const slowest = queues.toSorted((a, b) => b.latencyMs - a.latencyMs);
  const names = slowest.slice(0, MAX_BEHIND).map(({ name, latencyMs }) => `${name} ${formatDuration(latencyMs)}`);
  return {
    kind: "warn",
    title: `${number(queues.length)} queues are behind`,
    detail: `${names.join(", ")} and ${
      number(queues.length - names.length)
    } more. Add workers, or raise their concurrency.`,
    actions: [{ label: "Show queues", path: "/queues" }],
  };
}
