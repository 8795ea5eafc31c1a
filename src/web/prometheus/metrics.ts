/**
 * `/metrics`: the state of the store, and what this process and its peers count, as text for Prometheus. The number of
 * series has a bound: queues and classes beyond it are counted together.
 *
 * @module
 */
import type { QueueInfo, Stats } from "../../store/admin/admin.ts";
import { StoreError } from "../../store/port/errors.ts";
import { ALL_QUEUES, isSuspended } from "../../store/port/paused_queues.ts";
import { VERSION } from "../../version.ts";
import type { Services } from "../services.ts";
import { family, one } from "./text.ts";
import { serverFamilies } from "./worker_metrics.ts";
import type { WorkerInfo } from "../../store/port/workers.ts";

const MAX_QUEUES = 200;
/** The content type that Prometheus asks for. */
export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** The store may take so long: Prometheus waits 10 s unless told otherwise, and "down" is an answer too. */
const TIMEOUT_MS = 5_000;

/** All of it; without what the store would tell, when that does not answer. */
export async function metricsText(services: Services): Promise<string> {
  const [fromStore, counted] = await Promise.all([storeFamiliesInTime(services), services.counts?.()]);
  return [
    family("jobs_build_info", "gauge", "What answers", [{ labels: buildLabels(services.store.url), value: 1 }]),
    one("jobs_store_up", "gauge", "Whether the store answers", Number(fromStore !== undefined)),
    ...fromStore ?? [],
    ...(counted ? serverFamilies(counted) : []),
  ].join("\n") + "\n";
}

/** Undefined when the store does not answer. */
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
  return [
    ...storeFamilies(stats),
    ...processFamilies(await store.workers.list(), clock.now()),
    one("jobs_store_round_trip_seconds", "gauge", "Time the store took to answer this scrape", roundTripMs / 1_000),
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
    one("jobs_processed_total", "counter", "Jobs finished since the beginning, failed ones too", stats.processed),
    one("jobs_failed_total", "counter", "Jobs that failed since the beginning, each try counted", stats.failed),
    family("jobs_set_size", "gauge", "Jobs in each set", sets),
    one("jobs_leased", "gauge", "Jobs that processes have taken and not finished", stats.leased),
    family("jobs_queue_size", "gauge", "Jobs in each queue", perQueue((queue) => queue.size)),
    family(
      "jobs_queue_latency_seconds",
      "gauge",
      "Age of the oldest job in each queue",
      perQueue((queue) => queue.latencyMs / 1_000),
    ),
    family("jobs_queue_paused", "gauge", "Whether nothing is taken from it", perQueue((queue) => Number(queue.paused))),
    family(
      "jobs_queue_limited",
      "gauge",
      "Whether it is at its limit, and nothing is taken until a job ends or time has gone by",
      perQueue(({ limit }) => Number(limit !== undefined && limit.freeInMs !== 0)),
    ),
    one("jobs_suspended", "gauge", "Whether nothing is taken from any queue", Number(isSuspended(stats.queues))),
  ];
}

function processFamilies(processes: readonly WorkerInfo[], now: number): string[] {
  const live = processes.filter((process) => process.alive);
  const total = (value: (process: WorkerInfo) => number) => live.reduce((sum, process) => sum + value(process), 0);
  const oldest = Math.max(0, ...processes.map((process) => now - process.beatAt)) / 1_000;
  return [
    one("jobs_processes", "gauge", "Live processes", live.length),
    one("jobs_processes_quiet", "gauge", "Live processes that take nothing", live.filter(({ quiet }) => quiet).length),
    one("jobs_processes_lost", "gauge", "Processes whose heartbeat lapsed", processes.length - live.length),
    one("jobs_processors", "gauge", "Jobs that live processes can perform at once", total((one) => one.concurrency)),
    one("jobs_processors_busy", "gauge", "Jobs that live processes perform now", total((one) => one.busy)),
    one("jobs_processes_resident_memory_bytes", "gauge", "Memory of the live processes", total((one) => one.rss)),
    one("jobs_heartbeat_age_seconds", "gauge", "Age of the oldest heartbeat", oldest),
  ];
}

/** The largest queues by name, the others as one. */
function boundQueues(queues: readonly QueueInfo[]): readonly QueueInfo[] {
  if (queues.length <= MAX_QUEUES) return queues;
  const bySize = queues.toSorted((a, b) => b.size - a.size);
  const rest = bySize.slice(MAX_QUEUES);
  return [...bySize.slice(0, MAX_QUEUES), {
    name: "(other)",
    size: rest.reduce((sum, queue) => sum + queue.size, 0),
    latencyMs: rest.reduce((most, queue) => Math.max(most, queue.latencyMs), 0),
    paused: false,
  }];
}
