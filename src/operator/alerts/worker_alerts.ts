/**
 * Alerts about workers, and the jobs that stall them.
 *
 * @module
 */
import { formatDuration } from "../../job/duration.ts";
import { type Stall, stallsOf } from "../../store/ops/stalls.ts";
import { ALL_QUEUES } from "../../store/port/paused_queues.ts";
import type { WorkerInfo } from "../../store/port/workers.ts";
import { maskError } from "../../text/mask.ts";
import { number } from "../../text/format.ts";
import type { ProcessState } from "../../processes.ts";
import { processText } from "../../text/processes.ts";
import { startCommand, startHint } from "../../text/runtimes.ts";
import { stallCommand, stallHint, stallText } from "../../text/stalls.ts";
import { isLate, quietFor } from "../../text/workers.ts";
import {
  type Alert,
  type AlertAction,
  hinted,
  MAX_OF_A_KIND,
  NO_WORKER,
  sentence,
  type Situation,
  stallCause,
} from "./alert.ts";

/** A smaller difference of clocks may be the time that a heartbeat takes. */
const MIN_SKEW_MS = 30_000;
/** A text names at most this many workers. */
const MAX_NAMED = 3;
/** A command names at most this many queues: a worker without the others would leave their jobs. */
const MAX_QUEUES = 50;

const SHOW: AlertAction = { label: "Show workers", path: "/workers" };

/** No worker fetches: none is online, or all are quiet or stopping. Some are offline. */
export function workerAlerts({ stats, workers, processes, now }: Situation): Alert[] {
  const alerts: Alert[] = [];
  const online = workers.filter((worker) => worker.alive);
  const offline = workers.filter((worker) => !worker.alive);
  if (online.length === 0 && stats.enqueued > 0) {
    alerts.push({
      kind: "bad",
      about: "workers",
      cause: NO_WORKER,
      title: `No worker is running: ${number(stats.enqueued)} ${stats.enqueued === 1 ? "job waits" : "jobs wait"}`,
      ...hinted(startHint(workers, fullQueues(stats))),
      command: startCommand(workers, fullQueues(stats)),
      actions: [SHOW],
    });
  } else if (online.length > 0 && online.every((worker) => worker.stopping)) {
    alerts.push({
      kind: "warn",
      about: "workers",
      title: "All workers are stopping: no job is fetched",
      command: startCommand(online),
      actions: [SHOW],
    });
  } else if (online.length > 0 && online.every((worker) => worker.quiet)) {
    alerts.push({
      kind: "bad",
      about: "workers",
      title: `All workers are quiet${quietFor(online, now)}: no job is fetched`,
      command: "jobs resume --all-workers",
      actions: [{ label: "Resume all workers", path: "/workers/resume", acts: true }],
    });
  }
  if (offline.length > 0) {
    alerts.push({
      kind: "bad",
      about: "workers",
      title: offline.length === 1 ? "1 worker is offline" : `${number(offline.length)} workers are offline`,
      detail: `${
        heartbeatsText(offline, now, processes)
      }. Their running jobs are rescued by an online worker within seconds.`,
      command: online.length === 0
        ? startCommand(offline, namedQueues(offline.flatMap(({ queues }) => queues)))
        : "jobs workers",
      actions: [SHOW],
    });
  }
  return alerts;
}

/** Returns the queues with jobs, the largest first; empty if that is the default one alone. */
function fullQueues({ queues }: Situation["stats"]): string[] {
  return namedQueues(
    queues.filter(({ name, size }) => size > 0 && name !== ALL_QUEUES).toSorted((a, b) => b.size - a.size)
      .map(({ name }) => name),
  );
}

/** Returns the queues that a command names; empty if that is the default one alone. */
function namedQueues(queues: readonly string[]): string[] {
  const names = [...new Set(queues)].slice(0, MAX_QUEUES);
  return names.every((name) => name === "default") ? [] : names;
}

/** Heartbeats are late: what is known of these workers is old. */
export function heartbeatAlerts({ workers, processes, now }: Situation): Alert[] {
  const late = workers.filter((worker) => !processes.has(worker.id) && isLate(worker, now)).toSorted((a, b) =>
    a.heartbeatAt - b.heartbeatAt
  );
  if (late.length === 0) return [];
  return [{
    kind: "warn",
    about: "workers",
    title: late.length === 1
      ? `The heartbeat of a worker is late: it is known as of ${ago(late[0]!, now)}`
      : `The heartbeats of ${number(late.length)} workers are late: they are known as of ${ago(late[0]!, now)}`,
    detail: `${heartbeatsText(late, now)}. ${
      late.every(({ program }) => program)
        ? "Their gateway sends them: its process (jobs web) has ended, is frozen, or is cut off from the store. The programs reconnect."
        : "The store is slow or locked, or their machine is frozen or overloaded."
    }`,
    command: "jobs doctor",
    actions: [SHOW],
  }];
}

/** Workers whose clock differs from the store's: their times are shown wrong, and receivers refuse their signatures. */
export function clockAlerts({ workers }: Situation): Alert[] {
  // A worker whose event loop is blocked describes itself as of before.
  const wrong = workers.filter(({ alive, blocked }) => alive && blocked === undefined)
    .map((worker) => ({ worker, aheadMs: aheadOf(worker) }))
    .filter(({ aheadMs }) => Math.abs(aheadMs) >= MIN_SKEW_MS)
    .toSorted((a, b) => Math.abs(b.aheadMs) - Math.abs(a.aheadMs));
  if (wrong.length === 0) return [];
  const hosts = [
    ...new Set(wrong.map(({ worker: { hostname }, aheadMs }) => `${hostname.slice(0, 80)} ${skewText(aheadMs)}`)),
  ];
  const names = hosts.slice(0, MAX_NAMED).join(", ");
  return [{
    kind: "warn",
    about: "workers",
    title: wrong.length === 1
      ? `The clock of a worker is ${skewText(wrong[0]!.aheadMs)} the store's`
      : `The clocks of ${number(wrong.length)} workers differ from the store's, by up to ${
        formatDuration(seconds(wrong[0]!.aheadMs))
      }`,
    detail:
      `${names}${
        hosts.length > MAX_NAMED ? ` and ${number(hosts.length - MAX_NAMED)} more` : ""
      }. Times that it states are ` +
      "wrong, and receivers refuse the signatures of its webhooks. The command runs on that machine; NTP synchronizes it.",
    command: "timedatectl status",
    actions: [SHOW],
  }];
}

function aheadOf({ clockAt, heartbeatAt }: WorkerInfo): number {
  return clockAt === undefined ? 0 : clockAt - heartbeatAt;
}

function seconds(ms: number): number {
  return Math.round(Math.abs(ms) / 1_000) * 1_000;
}

function skewText(aheadMs: number): string {
  return `${formatDuration(seconds(aheadMs))} ${aheadMs > 0 ? "ahead of" : "behind"}`;
}

/** Workers on this machine whose processes have ended or are stopped: their heartbeats don't show it yet. */
export function processAlerts({ workers, processes, now }: Situation): Alert[] {
  const ended = workers.filter(({ alive, id }) => alive && processes.get(id) === "ended");
  const stopped = workers.filter(({ alive, id }) => alive && processes.get(id) === "stopped");
  const alerts: Alert[] = [];
  if (ended.length > 0) {
    alerts.push({
      kind: "bad",
      about: "workers",
      title: ended.length === 1
        ? `The process of a worker ${processText("ended")}`
        : `The processes of ${number(ended.length)} workers ${processText("ended", ended.length)}`,
      detail: `${heartbeatsText(ended, now)}. The cause is kill -9, a lack of memory, or a crash: the log and ` +
        "journalctl -k show which. Running jobs are rescued by an online worker once the heartbeat has lapsed.",
      command: startCommand(ended, namedQueues(ended.flatMap(({ queues }) => queues))),
      actions: [SHOW],
    });
  }
  if (stopped.length > 0) {
    alerts.push({
      kind: "bad",
      about: "workers",
      title: stopped.length === 1
        ? `The process of a worker ${processText("stopped")}`
        : `The processes of ${number(stopped.length)} workers ${processText("stopped", stopped.length)}`,
      detail: `${heartbeatsText(stopped, now)}. Running jobs are rescued by an online worker once the heartbeat ` +
        "has lapsed.",
      command: `kill -CONT ${stopped.map(({ pid }) => pid).join(" ")}`,
      actions: [SHOW],
    });
  }
  return alerts;
}

const STATE_TEXTS: Readonly<Record<ProcessState, string>> = {
  ended: "its process has ended",
  stopped: "its process is stopped",
};

function heartbeatsText(workers: readonly WorkerInfo[], now: number, processes?: Situation["processes"]): string {
  const names = workers.slice(0, MAX_NAMED).map((worker) => {
    const state = processes?.get(worker.id);
    const known = state === undefined ? "" : `, ${STATE_TEXTS[state]}`;
    return `${worker.hostname.slice(0, 80)}:${worker.pid} (last heartbeat ${ago(worker, now)}${known})`;
  });
  return `${names.join(", ")}${workers.length > MAX_NAMED ? ` and ${number(workers.length - MAX_NAMED)} more` : ""}`;
}

function ago({ heartbeatAt }: WorkerInfo, now: number): string {
  return `${formatDuration(Math.max(0, now - heartbeatAt))} ago`;
}

/** Hosts of HTTP endpoints fail, and their jobs wait. */
export function circuitAlerts({ workers, now }: Situation): Alert[] {
  const open = workers.flatMap(({ alive, circuits }) => alive ? circuits ?? [] : []);
  return [...Map.groupBy(open, ({ host }) => host)].slice(0, MAX_OF_A_KIND).map(([host, circuits]) => {
    const since = Math.min(...circuits.map((circuit) => circuit.since));
    const by = circuits.length === 1 ? "one worker" : `${number(circuits.length)} workers`;
    return {
      kind: "bad",
      about: "jobs",
      title: `The circuit of ${host.slice(0, 80)} is open${ofDuration(now - since)}: its jobs wait`,
      detail:
        `${
          sentence(maskError(circuits[0]!.error).slice(0, 200) || "its requests fail")
        } (${by}). The jobs use no attempts, and one of them probes ` +
        "the host every 10s to 5m.",
      actions: [SHOW],
    };
  });
}

function ofDuration(ms: number): string {
  return ms > 0 ? ` for ${formatDuration(ms)}` : "";
}

/** Jobs that block event loops, and those that ignore their signals: one alert for each worker. */
export function stallAlerts({ workers, now }: Situation): Alert[] {
  const stalls = Map.groupBy(stallsOf(workers), (stall) => stallCause(stall));
  return [...stalls].slice(0, MAX_OF_A_KIND).map(([cause, [stall, ...others]]) => ({
    kind: stall!.is === "blocked" ? "bad" : "warn",
    about: "workers",
    cause,
    title: others.length === 0
      ? sentence(stallText(stall!, now))
      : `${number(others.length + 1)} jobs on ${stall!.worker} ignore their signals`,
    detail: `${others.length === 0 ? "" : `The first: ${stallText(stall!, now)}. `}${sentence(stallHint(stall!))}.`,
    command: stallCommand(stall!),
    actions: stallActions(stall!),
  }));
}

function stallActions({ is, worker, jid }: Stall): AlertAction[] {
  const path = jid === undefined ? undefined : `/jobs/${encodeURIComponent(jid)}`;
  return [
    path === undefined ? SHOW : { label: "Show job", path },
    ...is === "blocked" && jid !== undefined
      ? [{ label: "Cancel job", path: "/jobs/cancel", acts: true, fields: { jid } }]
      : [],
    { label: "Stop worker", path: `/workers/${encodeURIComponent(worker)}/stop`, acts: true },
  ];
}
