/**
 * What `jobs doctor` looks at in the store: whether it opens, how it is, and what waits there in vain.
 *
 * @module
 */
import { systemClock } from "../../clock.ts";
import type { LoadedConfig } from "../../config/load.ts";
import { formatDuration } from "../../job/duration.ts";
import { parsePayload } from "../../job/job.ts";
import type { QueueInfo } from "../../store/admin/admin.ts";
import { type Blocker, blockersOf } from "../../store/ops/blockers.ts";
import { StoreError } from "../../store/port/errors.ts";
import { hidePassword, openStore } from "../../store/open.ts";
import { limitUse } from "../../text/limits.ts";
import type { Finding } from "./doctor_finding.ts";
import { shownQueue } from "../shared/pause_queues.ts";
import { storeOptions, storeUrl } from "../shared/store.ts";
import type { WorkerInfo } from "../../store/port/workers.ts";
import type { Store } from "../../store/admin/store.ts";

/** A clock that is off by more is worth a word: times that are shown, and those of `--at`, are off by as much. */
const MAX_SKEW_MS = 2_000;
/** So many jobs of each queue are looked at. */
const LOOKED_AT = 200;
/** So many leases are read at a time. */
const PAGE = 1_000;

/**
 * Looks at the store.
 *
 * @param classes those for which there are handlers here
 */
export async function checkStore({ settings }: LoadedConfig, classes: readonly string[]): Promise<Finding[]> {
  const url = storeUrl(settings);
  try {
    await using store = await openStore(url, { ...storeOptions(settings), create: false });
    return [
      ...await checkHealth(store, settings.durability),
      ...await checkProcesses(store),
      ...await checkQueues(store),
      ...await checkClasses(store, classes),
    ];
  } catch (error) {
    if (error instanceof StoreError && error.code === "missing") {
      return [{
        check: "store",
        state: "warning",
        message: `there is none at "${url}" yet`,
        cure: "jobs run and jobs push make it; --store or JOBS_STORE names another",
      }];
    }
    const cure = url.startsWith("sqlite:")
      ? "see that this user may write the file and its folder; --store or JOBS_STORE names another"
      : "see that the server runs and can be reached from here; --store or JOBS_STORE names another";
    return [{ check: "store", state: "failed", message: (error as Error).message, cure }];
  }
}

async function checkHealth(store: Store, wanted: "full" | "normal"): Promise<Finding[]> {
  const asked = systemClock.now();
  const { version, durability, now, findings } = await store.admin.health();
  const skew = now - (asked + systemClock.now()) / 2;
  const kept = durability === undefined ? "" : `, ${KEPT[durability]}`;
  return [
    { check: "store", state: "ok", message: `${hidePassword(store.url)}, ${version}${kept}` },
    ...durabilityFindings(store.url, durability, wanted),
    ...findings.map((one): Finding => ({ check: "store", state: "warning", ...one })),
    ...(Math.abs(skew) < MAX_SKEW_MS ? [] : [
      {
        check: "clock",
        state: "warning",
        message: `the store's clock is ${formatDuration(Math.abs(skew))} ${
          skew > 0 ? "ahead of" : "behind"
        } this machine's`,
        cure: "let NTP set both; jobs go by the store's, --at by what you say",
      } as const,
    ]),
  ];
}

const KEPT = {
  full: "keeps every push in a power cut",
  normal: "may lose the last moments' pushes in a power cut",
  none: "may lose much in a power cut",
};

function durabilityFindings(url: string, is: keyof typeof KEPT | undefined, wanted: "full" | "normal"): Finding[] {
  if (url.startsWith("sqlite:")) {
    return is === undefined || is === wanted || url.includes("durability=") ? [] : [{
      check: "store",
      state: "warning",
      message: `durability is "${is}", and "${wanted}" in the configuration`,
      cure: "name a file; what is in memory is gone with the process",
    }];
  }
  if (is !== "none") return [];
  return [{
    check: "store",
    state: "warning",
    message: "Redis keeps no append-only file: a crash loses what was pushed since its last snapshot",
    cure: "redis-cli CONFIG SET appendonly yes, and the same in redis.conf (docs/operate/redis.md)",
  }];
}

async function checkProcesses(store: Store): Promise<Finding[]> {
  const processes = await store.workers.list();
  const live = processes.filter((process) => process.alive);
  const stuck = await stuckLeases(store, live);
  return [
    live.length > 0 ? { check: "processes", state: "ok", message: `${live.length} live` } : {
      check: "processes",
      state: "warning",
      message: "none is live: nothing is performed",
      cure: "start one: jobs run HANDLERS.js",
    },
    ...processes.filter((process) => !process.alive).map(({ identity, beatAt }): Finding => ({
      check: "processes",
      state: "warning",
      message: `${identity} has not said for ${
        formatDuration(Math.max(0, systemClock.now() - beatAt))
      } that it is alive`,
      cure: "the next process that looks gives its jobs back: jobs run starts one",
    })),
    ...(stuck === 0 ? [] : [
      {
        check: "jobs",
        state: "warning",
        message: `${stuck === 1 ? "1 job is" : `${stuck} jobs are`} held by processes that are not alive`,
        cure: "any live process gives them back within seconds: jobs run starts one",
      } as const,
    ]),
  ];
}

/** How many jobs the dead hold. */
async function stuckLeases(store: Store, live: readonly WorkerInfo[]): Promise<number> {
  const alive = new Set(live.map(({ identity }) => identity));
  let stuck = 0;
  let cursor: string | undefined;
  do {
    const page = await store.admin.page({ in: "leased" }, { limit: PAGE, ...(cursor !== undefined && { cursor }) });
    stuck += page.entries.filter(({ owner }) => owner === undefined || !alive.has(owner)).length;
    cursor = page.next;
  } while (cursor !== undefined);
  return stuck;
}

async function checkQueues(store: Store): Promise<Finding[]> {
  const [{ queues }, processes] = await Promise.all([store.admin.stats(), store.workers.list()]);
  return [
    ...queues.filter((queue) => queue.paused).map(({ name, pausedForMs }): Finding => ({
      check: "queues",
      state: "warning",
      message: `${shownQueue(name)} paused${pausedForMs === undefined ? "" : ` for ${formatDuration(pausedForMs)}`}`,
      cure: shownQueue(name) === name ? `jobs resume ${name}` : "jobs resume",
    })),
    ...queues.filter((queue) => queue.size > 0).flatMap(({ name, size }): Finding[] => {
      const obstacles = blockersOf({ queue: name }, { processes, queues }).map(({ is }) => is);
      const why = obstacles.includes("quiet")
        ? "all processes that take it are quiet"
        : obstacles.includes("no-taker") || obstacles.includes("no-process")
        ? "no process takes it"
        : undefined;
      return why === undefined ? [] : [{
        check: "queues",
        state: "warning",
        message: `"${name}" has ${jobsIn(size)} and ${why}`,
        cure: `jobs run -q ${name}`,
      }];
    }),
    ...queues.flatMap((queue) => atItsLimit(queue)),
  ];
}

/** Jobs that wait because somebody wanted them to are no fault; whoever looks for one is told. */
function atItsLimit({ name, size, latencyMs, limit }: QueueInfo): Finding[] {
  if (size === 0 || limit === undefined || limit.freeInMs === 0) return [];
  const age = `${size === 1 ? "" : "the oldest "}${formatDuration(latencyMs)} old`;
  const message = `"${name}" has ${jobsIn(size)}, ${age}, and is at its limit: ${limitUse(limit)}`;
  return [{ check: "queues", state: "ok", message }];
}

function jobsIn(size: number): string {
  return `${size} ${size === 1 ? "job" : "jobs"}`;
}

/**
 * Classes of jobs that wait and that nobody performs: no live process that takes their queue has a handler; or, where none
 * takes it, nobody has said that it has one, nor have the handlers at hand.
 */
async function checkClasses(store: Store, classes: readonly string[]): Promise<Finding[]> {
  const [declared, { queues }, processes] = await Promise.all([
    store.classes.read(),
    store.admin.stats(),
    store.workers.list(),
  ]);
  const known = new Set([...classes, ...declared.map(({ name }) => name)]);
  /** By class, of the queue where it was seen last. */
  const found = new Map<string, string>();
  for (const { name: queue, size } of queues) {
    if (size === 0) continue;
    const { entries } = await store.admin.page({ in: "queue", queue }, { limit: LOOKED_AT });
    for (const name of new Set(entries.flatMap(({ payload }) => parsePayload(payload)?.class ?? []))) {
      const obstacles = blockersOf({ queue, class: name }, { processes, queues }).map(({ is }) => is);
      if (obstacles.includes("no-handler")) {
        found.set(
          name,
          `jobs of class ${name} wait in "${queue}", and no process that takes it has a handler: they would fail`,
        );
      } else if (NOBODY.some((is) => obstacles.includes(is)) && known.size > 0 && !known.has(name)) {
        found.set(name, `jobs of class ${name} wait in "${queue}", and no process has ever said that it performs them`);
      }
    }
  }
  return [...found].map(([name, message]) => ({
    check: "jobs",
    state: "warning",
    message,
    cure: `start one that does: jobs run HANDLERS.js with a handler ${name}`,
  }));
}

/** Nobody takes the queue. */
const NOBODY: readonly Blocker["is"][] = ["no-process", "no-taker", "quiet"];
