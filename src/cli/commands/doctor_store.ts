/**
 * The checks of `jobs doctor` in the store: whether it opens, its health, and jobs that nothing processes.
 *
 * @module
 */
import type { WorkerInfo } from "../../store/port/workers.ts";
import type { Store } from "../../store/admin/store.ts";
import { systemClock } from "../../clock.ts";
import type { LoadedConfig } from "../../config/load.ts";
import { formatDuration } from "../../job/duration.ts";
import { parsePayload } from "../../job/job.ts";
import type { QueueInfo } from "../../store/admin/admin.ts";
import { type Blocker, blockersOf } from "../../store/ops/blockers.ts";
import { stallsOf } from "../../store/ops/stalls.ts";
import { StoreError } from "../../store/port/errors.ts";
import { hidePassword } from "../../store/port/hide_password.ts";
import { openStore } from "../../store/open.ts";
import { limitUse } from "../../text/limits.ts";
import { stallCure, stallText } from "../../text/stalls.ts";
import { checkCron } from "./doctor_cron.ts";
import type { Finding } from "./doctor_finding.ts";
import { shownQueue } from "../../text/queues.ts";
import { storeOptions, storeUrl } from "../shared/store.ts";

/** A larger difference is reported: displayed times, and those of `--at`, are off by as much. */
const MAX_SKEW_MS = 2_000;
/** At most this many jobs of each queue are checked. */
const MAX_JOBS_PER_QUEUE = 200;
/** A queue whose oldest job has waited for longer, while all processors are busy, is reported. */
const MAX_LATENCY_MS = 30_000;
/** Leases read at a time. */
const PAGE_SIZE = 1_000;

/** The findings about the store. */
export interface StoreFindings {
  readonly findings: readonly Finding[];
  /** Whether an online worker has handlers. */
  readonly hasHandlers: boolean;
}

/**
 * Checks the store.
 *
 * @param classes those with handlers on this machine
 */
export async function checkStore(config: LoadedConfig, classes: readonly string[]): Promise<StoreFindings> {
  const found = { hasHandlers: false };
  const findings = await findingsOf(config, classes, found);
  return { findings, hasHandlers: found.hasHandlers };
}

async function findingsOf(
  { settings }: LoadedConfig,
  classes: readonly string[],
  found: { hasHandlers: boolean },
): Promise<Finding[]> {
  const url = storeUrl(settings);
  try {
    await using store = await openStore(url, { ...storeOptions(settings), create: false });
    found.hasHandlers = (await store.workers.list()).some(({ alive, classes }) => alive && (classes?.length ?? 0) > 0);
    return [
      ...await checkHealth(store, settings.durability),
      ...await checkWorkers(store),
      ...await checkQueues(store),
      ...await checkClasses(store, classes),
      ...await checkCron(store),
    ];
  } catch (error) {
    if (error instanceof StoreError && error.code === "missing") {
      return [{
        check: "store",
        state: "warning",
        message: `no store at "${url}" yet`,
        cure: "jobs run and jobs push create it; --store or JOBS_STORE names another",
      }];
    }
    const cure = url.startsWith("sqlite:")
      ? "give this user permission on the file and its folder; --store or JOBS_STORE names another"
      : "check that the server runs and is reachable from here; --store or JOBS_STORE names another";
    return [{ check: "store", state: "failed", message: (error as Error).message, cure }];
  }
}

async function checkHealth(store: Store, configured: "full" | "normal"): Promise<Finding[]> {
  const before = systemClock.now();
  const { version, durability, now, findings } = await store.admin.health();
  const skew = now - (before + systemClock.now()) / 2;
  const guarantee = durability !== undefined
    ? `, ${GUARANTEES[durability]}`
    : store.url.startsWith("sqlite:")
    ? ""
    : ", durability unknown: INFO or CONFIG GET is denied";
  return [
    {
      check: "store",
      state: durability === "none" ? "warning" : "ok",
      message: `${hidePassword(store.url)}, ${version}${guarantee}`,
    },
    ...durabilityFindings(store.url, durability, configured),
    ...findings.map((one): Finding => ({ check: "store", state: "warning", ...one })),
    ...(Math.abs(skew) < MAX_SKEW_MS ? [] : [
      {
        check: "clock",
        state: "warning",
        message: `the store's clock is ${formatDuration(Math.abs(skew))} ${
          skew > 0 ? "ahead of" : "behind"
        } this machine's`,
        cure: "synchronize both clocks with NTP; due times follow the store's clock",
      } as const,
    ]),
  ];
}

const GUARANTEES = {
  full: "a power cut loses no acknowledged job",
  normal: "a power cut may lose the latest jobs",
  none: "a crash may lose many jobs",
};

function durabilityFindings(
  url: string,
  actual: keyof typeof GUARANTEES | undefined,
  configured: "full" | "normal",
): Finding[] {
  if (url.startsWith("sqlite:")) {
    return actual === undefined || actual === configured || url.includes("durability=") ? [] : [{
      check: "store",
      state: "warning",
      message: `durability is "${actual}", but "${configured}" is configured`,
      cure: "use a file: a store in memory is lost when its process ends",
    }];
  }
  if (actual !== "none") return [];
  return [{
    check: "store",
    state: "warning",
    message: "Redis has no append-only file: a crash loses all jobs since its last snapshot",
    cure: "redis-cli CONFIG SET appendonly yes, and the same in redis.conf (docs/operate/redis.md)",
  }];
}

async function checkWorkers(store: Store): Promise<Finding[]> {
  const workers = await store.workers.list();
  const online = workers.filter((worker) => worker.alive);
  const stuck = await stuckLeases(store, online);
  return [
    online.length > 0 && online.every(({ quiet }) => quiet)
      ? {
        check: "workers",
        state: "warning",
        message: `${online.length} online, all quiet: no job is fetched`,
        cure: "jobs resume --all-workers",
      }
      : online.length > 0
      ? { check: "workers", state: "ok", message: `${online.length} online` }
      : {
        check: "workers",
        state: "warning",
        message: "none online: no job runs",
        cure: "start one: jobs run handlers.js",
      },
    ...workers.filter((worker) => !worker.alive).map(({ id, heartbeatAt }): Finding => ({
      check: "workers",
      state: "warning",
      message: `${id} is offline: last heartbeat ${formatDuration(Math.max(0, systemClock.now() - heartbeatAt))} ago`,
      cure: "an online worker rescues its jobs within seconds; start one: jobs run handlers.js",
    })),
    ...stallsOf(workers).map((stall): Finding => ({
      check: "workers",
      state: "warning",
      message: stallText(stall, systemClock.now()),
      cure: stallCure(stall),
    })),
    ...(stuck === 0 ? [] : [
      {
        check: "jobs",
        state: "warning",
        message: `${stuck === 1 ? "1 job is" : `${stuck} jobs are`} held by offline workers`,
        cure: "an online worker rescues them within seconds; start one: jobs run handlers.js",
      } as const,
    ]),
  ];
}

/** Counts the jobs held by offline workers. */
async function stuckLeases(store: Store, online: readonly WorkerInfo[]): Promise<number> {
  const alive = new Set(online.map(({ id }) => id));
  let stuck = 0;
  let cursor: string | undefined;
  do {
    const page = await store.admin.page({ in: "running" }, {
      limit: PAGE_SIZE,
      ...(cursor !== undefined && { cursor }),
    });
    stuck += page.entries.filter(({ worker }) => worker === undefined || !alive.has(worker)).length;
    cursor = page.next;
  } while (cursor !== undefined);
  return stuck;
}

async function checkQueues(store: Store): Promise<Finding[]> {
  const [{ queues }, workers] = await Promise.all([store.admin.stats(), store.workers.list()]);
  return [
    ...queues.filter((queue) => queue.paused).map(({ name, pausedForMs }): Finding => ({
      check: "queues",
      state: "warning",
      message: `${shownQueue(name)}: paused${pausedForMs === undefined ? "" : ` for ${formatDuration(pausedForMs)}`}`,
      cure: shownQueue(name) === name ? `jobs resume ${name}` : "jobs resume",
    })),
    ...queues.filter((queue) => queue.size > 0).flatMap(({ name, size, latencyMs }): Finding[] => {
      const blockers = blockersOf({ queue: name }, { workers, queues });
      const obstacles = blockers.map(({ is }) => is);
      const busy = blockers.find((blocker) => "stall" in blocker);
      if (busy?.stall !== undefined && latencyMs >= MAX_LATENCY_MS) {
        return [{
          check: "queues",
          state: "warning",
          message:
            `queue "${name}" has ${jobsIn(size)}, the oldest ${
              formatDuration(latencyMs)
            } old, and all its processors are busy; ` +
            `the longest: ${stallText(busy.stall, systemClock.now())}`,
          cure: stallCure(busy.stall),
        }];
      }
      const why = obstacles.includes("quiet")
        ? "all its workers are quiet"
        : obstacles.includes("stopping")
        ? "all its workers are stopping"
        : obstacles.includes("no-worker-of-queue") || obstacles.includes("no-worker-online")
        ? "no worker"
        : undefined;
      return why === undefined ? [] : [{
        check: "queues",
        state: "warning",
        message: `queue "${name}" has ${jobsIn(size)} and ${why}`,
        cure: obstacles.includes("quiet") ? "jobs resume --all-workers" : `jobs run handlers.js -q ${name}`,
      }];
    }),
    ...queues.flatMap((queue) => atItsLimit(queue)),
  ];
}

/** Reports a queue at its limit. This isn't a fault: an operator set the limit. */
function atItsLimit({ name, size, latencyMs, limit }: QueueInfo): Finding[] {
  if (size === 0 || limit === undefined || limit.freeInMs === 0) return [];
  const age = `${size === 1 ? "" : "the oldest "}${formatDuration(latencyMs)} old`;
  const message = `queue "${name}" has ${jobsIn(size)}, ${age}, and is at its limit: ${limitUse(limit)}`;
  return [{ check: "queues", state: "ok", message }];
}

function jobsIn(size: number): string {
  return `${size} ${size === 1 ? "job" : "jobs"}`;
}

/**
 * Reports the classes of queued jobs that no worker runs: no online worker of their queue has a handler, or, if the queue has
 * no worker, neither the store nor this machine knows of a handler.
 */
async function checkClasses(store: Store, classes: readonly string[]): Promise<Finding[]> {
  const [declared, { queues }, workers] = await Promise.all([
    store.classes.read(),
    store.admin.stats(),
    store.workers.list(),
  ]);
  const known = new Set([...classes, ...declared.map(({ name }) => name)]);
  /** Class → finding, of the queue where it was seen last. */
  const found = new Map<string, string>();
  for (const { name: queue, size } of queues) {
    if (size === 0) continue;
    const { entries } = await store.admin.page({ in: "queue", queue }, { limit: MAX_JOBS_PER_QUEUE });
    for (const name of new Set(entries.flatMap(({ payload }) => parsePayload(payload)?.class ?? []))) {
      const obstacles = blockersOf({ queue, class: name }, { workers, queues }).map(({ is }) => is);
      if (obstacles.includes("no-handler")) {
        found.set(
          name,
          `queue "${queue}" has jobs of class ${name}, and none of its workers has a handler: they wait for one`,
        );
      } else if (NO_WORKER.some((is) => obstacles.includes(is)) && known.size > 0 && !known.has(name)) {
        found.set(name, `queue "${queue}" has jobs of class ${name}, and no worker has ever had a handler`);
      }
    }
  }
  return [...found].map(([name, message]) => ({
    check: "jobs",
    state: "warning",
    message,
    cure: `start a worker with a handler ${name}: jobs run handlers.js`,
  }));
}

/** The queue has no worker. */
const NO_WORKER: readonly Blocker["is"][] = ["no-worker-online", "no-worker-of-queue", "quiet", "stopping"];
