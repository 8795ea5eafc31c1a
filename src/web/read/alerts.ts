/**
 * Rules that derive alerts from the state of the system: each names a problem, and the action that helps.
 *
 * @module
 */
import { openSchedule } from "../../cron/schedule_spec.ts";
import type { CronRecord } from "../../cron/occurrence.ts";
import { formatDuration } from "../../job/duration.ts";
import { stallsOf } from "../../store/ops/stalls.ts";
import { number } from "../../text/format.ts";
import { stallCure, stallText } from "../../text/stalls.ts";
import type { Alert, AlertAction, Situation } from "./alert.ts";
import { enqueuedJid, runFields } from "./cron_ends.ts";
import { queueAlerts } from "./queue_alerts.ts";

/** A cron entry whose run is overdue by more than this is late. */
const LATE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** The error of jobs that are moved to dead because they crash their workers. */
export const CRASH_ERROR = "WorkerDied";
/** The minutes over which failures count, and the fewest attempts for a rate. */
const FAILURE_MINUTES = 15;
const MIN_ATTEMPTS = 20;
const WARN_RATE = 0.1;
const BAD_RATE = 0.5;
/** Fewer retries don't count as growing; this many are a problem in any case. */
const MIN_RETRIES = 100;
const MANY_RETRIES = 10_000;
const GROWTH = 0.1;
/** Alerts of each kind about single classes and entries. Their pages show the rest. */
const MAX_OF_A_KIND = 4;

/** Returns the problems, the worst first. */
export function alertsOf(situation: Situation): Alert[] {
  const alerts = [
    ...workerAlerts(situation),
    ...stallAlerts(situation),
    ...failureAlerts(situation),
    ...crashAlerts(situation),
    ...retryAlerts(situation),
    ...unhandledAlerts(situation),
    ...queueAlerts(situation),
    ...cronAlerts(situation),
  ];
  return alerts.sort((a, b) => Number(b.kind === "bad") - Number(a.kind === "bad"));
}

function workerAlerts({ stats, workers, now }: Situation): Alert[] {
  const alerts: Alert[] = [];
  const online = workers.filter((worker) => worker.alive);
  const offline = workers.filter((worker) => !worker.alive);
  const show: AlertAction = { label: "Show workers", path: "/workers" };
  if (online.length === 0 && stats.enqueued > 0) {
    alerts.push({
      kind: "bad",
      title: `No worker is running: ${number(stats.enqueued)} ${stats.enqueued === 1 ? "job waits" : "jobs wait"}`,
      detail: "Start one:",
      command: "jobs run handlers.js",
      actions: [show],
    });
  } else if (online.length > 0 && online.every((worker) => worker.stopping)) {
    alerts.push({ kind: "warn", title: "All workers are stopping: no job is fetched", actions: [show] });
  } else if (online.length > 0 && online.every((worker) => worker.quiet)) {
    alerts.push({
      kind: "bad",
      title: "All workers are quiet: no job is fetched",
      actions: [{ label: "Resume all workers", path: "/workers/resume", acts: true }],
    });
  }
  if (offline.length > 0) {
    const names = offline.slice(0, 3).map(({ hostname, pid, heartbeatAt }) =>
      `${hostname.slice(0, 80)}:${pid} (last heartbeat ${formatDuration(Math.max(0, now - heartbeatAt))} ago)`
    );
    const more = offline.length > 3 ? ` and ${offline.length - 3} more` : "";
    alerts.push({
      kind: "bad",
      title: offline.length === 1 ? "1 worker is offline" : `${number(offline.length)} workers are offline`,
      detail: `${names.join(", ")}${more}. Their running jobs are rescued by other workers.`,
      actions: [show],
    });
  }
  return alerts;
}

function stallAlerts({ workers, now }: Situation): Alert[] {
  return stallsOf(workers).slice(0, MAX_OF_A_KIND).map((stall) => ({
    kind: stall.is === "blocked" ? "bad" : "warn",
    title: stall.is === "blocked"
      ? `${stall.class ?? "A handler"} blocks the event loop of a worker`
      : `${stall.class ?? "A handler"} ignores its signal`,
    detail: `${stallText(stall, now)}. ${stallCure(stall)}.`,
    actions: [
      { label: "Show workers", path: "/workers" },
      ...stall.jid === undefined ? [] : [{ label: "Show job", path: `/jobs/${encodeURIComponent(stall.jid)}` }],
    ],
  }));
}

function failureAlerts({ metrics, today }: Situation): Alert[] {
  const recent = metrics.map(({ class: name, series, failedSeries }) => ({
    name,
    processed: sum(series.slice(-FAILURE_MINUTES)),
    failed: sum(failedSeries.slice(-FAILURE_MINUTES)),
  })).filter(({ processed }) => processed > 0);
  const processed = sum(recent.map((one) => one.processed));
  const hasRecent = processed >= MIN_ATTEMPTS;
  const attempts = hasRecent ? processed : today.processed;
  const failed = hasRecent ? sum(recent.map((one) => one.failed)) : today.failed;
  const errors: AlertAction = { label: "Show errors", path: "/retrying", query: { by: "error" } };
  const alerts: Alert[] = [];
  if (attempts >= MIN_ATTEMPTS && failed / attempts >= WARN_RATE) {
    const isBad = failed / attempts >= BAD_RATE;
    alerts.push({
      kind: isBad ? "bad" : "warn",
      title: `${percent(failed / attempts)} of attempts failed ${
        hasRecent ? `in the last ${FAILURE_MINUTES} minutes` : "today"
      }`,
      detail: `${number(failed)} of ${number(attempts)} attempts`,
      actions: isBad ? [errors, { label: "Pause all queues", path: "/queues/pause", acts: true }] : [errors],
    });
  }
  const worst = recent.filter((one) => one.processed >= MIN_ATTEMPTS && one.failed / one.processed >= WARN_RATE)
    .sort((a, b) => b.failed - a.failed);
  // If failures are high overall, the page of errors names the classes.
  if (alerts.length === 0) {
    for (const { name, processed, failed } of worst.slice(0, MAX_OF_A_KIND)) {
      alerts.push({
        kind: failed / processed >= BAD_RATE ? "bad" : "warn",
        title: `${percent(failed / processed)} of ${name} failed in the last ${FAILURE_MINUTES} minutes`,
        detail: `${number(failed)} of ${number(processed)} attempts`,
        actions: [
          { label: "Show errors", path: "/retrying", query: { by: "error", class: name } },
          { label: "Show class", path: `/classes/${encodeURIComponent(name)}` },
        ],
      });
    }
  }
  return alerts;
}

function retryAlerts({ stats, samples, now }: Situation): Alert[] {
  const first = samples[0];
  const growth = first === undefined ? 0 : stats.retry - first.retrying;
  const isGrowing = first !== undefined && stats.retry >= MIN_RETRIES &&
    growth >= Math.max(20, first.retrying * GROWTH);
  if (!isGrowing && stats.retry < MANY_RETRIES) return [];
  return [{
    kind: stats.retry >= MANY_RETRIES ? "bad" : "warn",
    title: isGrowing
      ? `Retries are growing: ${number(stats.retry)} jobs, +${number(growth)} in ${formatDuration(now - first.at)}`
      : `${number(stats.retry)} jobs wait for a retry`,
    actions: [{ label: "Group by error", path: "/retrying", query: { by: "error" } }],
  }];
}

/** One alert for each class that crashed workers within the last hour. */
function crashAlerts({ crashes, now }: Situation): Alert[] {
  const recent = crashes.filter(({ at }) => at > now - HOUR_MS);
  return [...Map.groupBy(recent, ({ class: name }) => name)].slice(0, MAX_OF_A_KIND).map(([name, jobs]) => {
    const { jid, ref, at } = jobs[0]!;
    return {
      kind: "bad",
      title: `${name} crashes its workers: ${
        jobs.length === 1 ? "1 job" : `${number(jobs.length)} jobs`
      } moved to dead`,
      detail: `${formatDuration(Math.max(0, now - at))} ago. Each attempt ended its worker.`,
      actions: [
        { label: "Show job", path: `/jobs/${encodeURIComponent(jid)}`, query: { ref } },
        { label: "Show dead jobs", path: "/dead", query: { class: name, error: CRASH_ERROR } },
      ],
    };
  });
}

function unhandledAlerts({ unhandled }: Situation): Alert[] {
  return unhandled.slice(0, MAX_OF_A_KIND).map(({ class: name, queue }) => ({
    kind: "bad",
    title: `No handler for ${name}`,
    detail: `Its jobs wait in queue ${queue} until a worker of that queue has a handler for it.`,
    actions: [
      { label: "Show jobs", path: `/queues/${encodeURIComponent(queue)}`, query: { class: name } },
      { label: `Pause queue ${queue}`, path: `/queues/${encodeURIComponent(queue)}/pause`, acts: true },
    ],
  }));
}

/** Returns the latest run of each entry that counts as recent, the latest first. */
export function recentRuns(cron: Situation["cron"], now: number): CronRecord[] {
  return cron.flatMap(({ last }) => last !== undefined && last.decidedAt > now - DAY_MS ? [last] : [])
    .sort((a, b) => b.decidedAt - a.decidedAt);
}

function cronAlerts({ cron, cronEnds, workers, now }: Situation): Alert[] {
  const alerts: Alert[] = [];
  const isOnline = workers.some(({ alive }) => alive);
  for (const { name, definition, state, last, isLoaded } of cron) {
    if (definition === undefined || state === undefined || state.paused) continue;
    const page: AlertAction = { label: "Show entry", path: `/cron/${encodeURIComponent(name)}` };
    const run: AlertAction = {
      label: "Run now",
      path: `/cron/${encodeURIComponent(name)}/run`,
      acts: true,
      fields: runFields(last),
    };
    const due = openSchedule(definition.schedule).next(state.considered);
    if (due !== undefined && due < now - LATE_MS) {
      alerts.push({
        kind: "bad",
        title: `Cron entry "${name}" did not run: due ${formatDuration(now - due)} ago`,
        detail: !isOnline
          ? "No worker is running."
          : isLoaded
          ? "No worker enqueued it. Is it still in their configuration? Otherwise see their logs."
          : "No running worker has it in its configuration.",
        actions: [run, page],
      });
    } else if (last?.outcome === "missed" && last.decidedAt > now - DAY_MS) {
      alerts.push({
        kind: "warn",
        title: `Cron entry "${name}" missed ${last.count === 1 ? "a run" : `${number(last.count ?? 1)} runs`}`,
        actions: [run, page],
      });
    } else if (last !== undefined && last.decidedAt > now - DAY_MS) {
      const jid = enqueuedJid(last);
      const end = jid === undefined ? undefined : cronEnds.get(jid);
      if (end !== "failed" && end !== "dead") continue;
      alerts.push({
        kind: "warn",
        title: `The last job of cron entry "${name}" ${end === "dead" ? "is dead" : "failed"}`,
        detail: `It was enqueued ${formatDuration(Math.max(0, now - last.decidedAt))} ago.`,
        actions: [{ label: "Show job", path: `/jobs/${encodeURIComponent(jid!)}` }, run, page],
      });
    }
  }
  return alerts.slice(0, MAX_OF_A_KIND);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function percent(share: number): string {
  return `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;
}
