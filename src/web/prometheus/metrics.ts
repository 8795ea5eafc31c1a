/**
 * `/metrics`: the state of the store, and the counters of this process and its peers, in Prometheus' text format. The
 * number of series has a bound: queues, groups and classes beyond it are summed into one.
 *
 * @module
 */
import type { DeadRows } from "../../store/admin/health.ts";
import { type QueueInfo, type Stats, WAIT_KINDS } from "../../store/admin/admin.ts";
import type { BatchState, BatchStore } from "../../store/port/batches.ts";
import type { GroupSize } from "../../store/port/groups.ts";
import { stallsOf } from "../../store/ops/stalls.ts";
import { StoreError } from "../../store/port/errors.ts";
import { ALL_QUEUES, isSuspended } from "../../store/port/paused_queues.ts";
import { groupName } from "../../text/groups.ts";
import { VERSION } from "../../version.ts";
import { overdueMs } from "../read/overdue_runs.ts";
import type { Services } from "../services.ts";
import { family, one } from "./text.ts";
import { serverFamilies } from "./worker_metrics.ts";
import type { OutboxRecord, WorkerInfo } from "../../store/port/workers.ts";

const MAX_QUEUES = 200;
/** Groups of each queue that have series for themselves. */
const MAX_GROUPS = 20;
/** Queues with series for their groups: the first by name. */
const MAX_GROUPED_QUEUES = 50;
/** Batches that are counted by state, and as many flows. */
const MAX_BATCHES = 200;
const BATCH_STATES: readonly BatchState[] = [
  "open",
  "running",
  "stuck",
  "succeeded",
  "failed",
  "cancelled",
  "abandoned",
];
const OTHER = "(other)";
/** The content type of Prometheus' text format. */
export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Shorter than Prometheus' default timeout of 10 s, so that an unreachable store is reported as down. */
const TIMEOUT_MS = 5_000;

/** Returns all metrics; without those of the store if it doesn't respond. */
export async function metricsText(services: Services): Promise<string> {
  const [fromStore, counted] = await Promise.all([storeFamiliesInTime(services), services.counts?.()]);
  return [
    family("jobs_build_info", "gauge", "Version of jobs, and the kind of its store", [{
      labels: buildLabels(services.store.url),
      value: 1,
    }]),
    one("jobs_store_up", "gauge", "Whether the store responds", Number(fromStore !== undefined)),
    ...fromStore ?? [],
    ...(counted ? serverFamilies(counted) : []),
  ].join("\n") + "\n";
}

/** Returns the store's metrics; undefined if it doesn't respond in time. */
async function storeFamiliesInTime(services: Services): Promise<string[] | undefined> {
  const over = new AbortController();
  try {
    return await Promise.race([
      readStore(services),
      services.clock.sleep(TIMEOUT_MS, over.signal).then(() => undefined),
    ]);
  } catch (error) {
    if (error instanceof StoreError) return undefined;
    throw error;
  } finally {
    over.abort();
  }
}

async function readStore({ store, clock }: Services): Promise<string[]> {
  const start = clock.monotonic();
  const stats = await store.admin.stats();
  const roundTripMs = clock.monotonic() - start;
  const named = boundQueues(stats.queues).map(({ name }) => name).filter((name) =>
    name !== ALL_QUEUES && name !== OTHER
  );
  // At once: a slow store would not reply to all in time, and be reported as down.
  const [grouped, batches, workers, overdue, deadRows] = await Promise.all([
    store.admin.stats({ queues: named, groups: MAX_GROUPS }),
    batchFamily(store.batches),
    store.workers.list(),
    overdueMs(store.cron),
    store.url.startsWith("postgres") ? store.admin.health().then((health) => health.deadRows) : undefined,
  ]);
  return [
    ...storeFamilies(stats),
    ...groupFamilies(grouped.queues),
    batches,
    ...workerFamilies(workers, clock.now()),
    one(
      "jobs_cron_overdue_seconds",
      "gauge",
      "How long a cron run has been due that no worker has decided on, of the entry furthest behind",
      overdue / 1_000,
    ),
    one("jobs_store_round_trip_seconds", "gauge", "Time that the store took for this scrape", roundTripMs / 1_000),
    ...(deadRows ? deadRowFamilies(deadRows) : []),
  ];
}

function buildLabels(storeUrl: string): Record<string, string> {
  return { version: VERSION, deno: Deno.version.deno, store: storeUrl.slice(0, storeUrl.indexOf(":")) };
}

function storeFamilies(stats: Stats): string[] {
  const queues = boundQueues(stats.queues.filter(({ name }) => name !== ALL_QUEUES));
  const perQueue = (value: (queue: QueueInfo) => number) =>
    queues.map((queue) => ({ labels: { queue: queue.name }, value: value(queue) }));
  const sets = (["scheduled", "retry", "dead"] as const).map((set) => ({ labels: { set }, value: stats[set] }));
  return [
    one(
      "jobs_processed_total",
      "counter",
      "Attempts ended since the store was created, failed ones included",
      stats.processed,
    ),
    one("jobs_failed_total", "counter", "Attempts failed since the store was created", stats.failed),
    family("jobs_set_size", "gauge", "Jobs in each set", sets),
    family(
      "jobs_step_waits",
      "gauge",
      "Durable steps that wait, also those of dead jobs, by kind: sleep, wait (for a signal) or child",
      WAIT_KINDS.map((kind) => ({ labels: { kind }, value: stats.waits[kind] })),
    ),
    one("jobs_running", "gauge", "Running jobs", stats.running),
    family("jobs_queue_size", "gauge", "Jobs in each queue", perQueue((queue) => queue.size)),
    family(
      "jobs_queue_latency_seconds",
      "gauge",
      "Age of the oldest job in each queue",
      perQueue((queue) => queue.latencyMs / 1_000),
    ),
    family("jobs_queue_paused", "gauge", "Whether the queue is paused", perQueue((queue) => Number(queue.paused))),
    family(
      "jobs_queue_limited",
      "gauge",
      "Whether the queue is at its limit: no job starts until a running one ends or time passes",
      perQueue(({ limit }) => Number(limit !== undefined && limit.freeInMs !== 0)),
    ),
    family(
      "jobs_queue_groups_held",
      "gauge",
      "Groups of each queue that are at their limit or paused, counted up to 1000",
      perQueue(({ heldGroups = 0 }) => heldGroups),
    ),
    one("jobs_all_queues_paused", "gauge", "Whether all queues are paused", Number(isSuspended(stats.queues))),
  ];
}

/** Counts the latest batches and flows: a store keeps any number of them, and no counter by state. */
async function batchFamily(batches: Pick<BatchStore, "read">): Promise<string> {
  const samples = await Promise.all(([["batch", false], ["flow", true]] as const).map(async ([kind, flows]) => {
    const latest = (await batches.read({ flows, limit: MAX_BATCHES })).batches;
    return BATCH_STATES.map((state) => ({
      labels: { kind, state },
      value: latest.filter((batch) => batch.state === state).length,
    }));
  }));
  return family("jobs_batches", "gauge", "The latest 200 batches and the latest 200 flows by state", samples.flat());
}

function groupFamilies(queues: readonly QueueInfo[]): string[] {
  const grouped = queues.flatMap(({ name, groups }) => groups ? [{ queue: name, ...groups }] : []);
  const perGroup = (value: (group: Omit<GroupSize, "name">) => number) =>
    grouped.slice(0, MAX_GROUPED_QUEUES).flatMap(({ queue, largest, others }) => {
      // A group may have the name of the sum.
      const rest = largest.filter(({ name }) => name === OTHER).reduce(
        (sum, group) => sum + value(group),
        value(others),
      );
      const named = largest.filter(({ name }) => name !== OTHER);
      return [
        ...named.map((group) => ({ labels: { queue, group: groupName(group.name) }, value: value(group) })),
        { labels: { queue, group: OTHER }, value: rest },
      ];
    });
  const about = `in the ${MAX_GROUPS} largest groups of each queue, and in its other groups together`;
  return [
    family("jobs_group_size", "gauge", `Queued jobs ${about}`, perGroup(({ size }) => size)),
    family("jobs_group_running", "gauge", `Running jobs ${about}`, perGroup(({ running }) => running)),
  ];
}

function workerFamilies(workers: readonly WorkerInfo[], now: number): string[] {
  const live = workers.filter((worker) => worker.alive);
  const total = (value: (worker: WorkerInfo) => number) => live.reduce((sum, worker) => sum + value(worker), 0);
  const stalls = stallsOf(workers);
  const oldest = Math.max(0, ...workers.map((worker) => now - worker.heartbeatAt)) / 1_000;
  return [
    one("jobs_workers", "gauge", "Online workers", live.length),
    one("jobs_workers_quiet", "gauge", "Online workers that are quiet", live.filter(({ quiet }) => quiet).length),
    one("jobs_workers_offline", "gauge", "Offline workers", workers.length - live.length),
    one("jobs_processors", "gauge", "Processors of online workers", total((one) => one.concurrency)),
    one("jobs_processors_busy", "gauge", "Processors of online workers that run a job", total((one) => one.busy)),
    one(
      "jobs_workers_blocked",
      "gauge",
      "Online workers whose event loop a handler blocks",
      stalls.filter(({ is }) => is === "blocked").length,
    ),
    one(
      "jobs_signals_ignored",
      "gauge",
      "Running jobs that continue although their signal has aborted",
      stalls.filter(({ is }) => is === "ignores-signal").length,
    ),
    one("jobs_workers_resident_memory_bytes", "gauge", "Memory of the online workers", total((one) => one.rss)),
    one("jobs_heartbeat_age_seconds", "gauge", "Age of the oldest heartbeat", oldest),
    ...outboxFamilies(live.flatMap(({ outbox }) => outbox ?? [])),
  ];
}

/** Returns what PostgreSQL says of its dead rows. */
function deadRowFamilies({ horizonAgeMs, tables }: DeadRows): string[] {
  return [
    one(
      "jobs_pg_horizon_age_seconds",
      "gauge",
      "PostgreSQL: how long the oldest transaction has kept dead rows",
      horizonAgeMs / 1_000,
    ),
    family(
      "jobs_pg_dead_rows",
      "gauge",
      "PostgreSQL: rows of each table that wait for vacuum",
      Object.entries(tables).map(([table, value]) => ({ labels: { table }, value })),
    ),
  ];
}

/** Returns the outbox as its workers see it; nothing without one. */
function outboxFamilies(seen: readonly OutboxRecord[]): string[] {
  if (seen.length === 0) return [];
  const largest = (value: (record: OutboxRecord) => number) => Math.max(...seen.map(value));
  return [
    one("jobs_outbox_up", "gauge", "Whether each online worker reaches the outbox", Number(seen.every(isUp))),
    one(
      "jobs_outbox_waiting",
      "gauge",
      "Rows that wait in the outbox, counted up to 10000",
      largest((it) => it.waiting),
    ),
    one(
      "jobs_outbox_oldest_seconds",
      "gauge",
      "Age of the oldest row that waits in the outbox",
      largest(({ oldestMs = 0 }) => oldestMs / 1_000),
    ),
    one("jobs_outbox_refused", "gauge", "Refused rows in the outbox, counted up to 10000", largest((it) => it.refused)),
  ];
}

function isUp({ error }: OutboxRecord): boolean {
  return error === undefined;
}

/** Returns the largest queues, and the others summed into one. */
function boundQueues(queues: readonly QueueInfo[]): readonly QueueInfo[] {
  if (queues.length <= MAX_QUEUES) return queues;
  const bySize = queues.toSorted((a, b) => b.size - a.size);
  const rest = bySize.slice(MAX_QUEUES);
  return [...bySize.slice(0, MAX_QUEUES), {
    name: OTHER,
    size: rest.reduce((sum, queue) => sum + queue.size, 0),
    latencyMs: rest.reduce((max, queue) => Math.max(max, queue.latencyMs), 0),
    paused: false,
  }];
}
