/**
 * Reads the state of the system that alerts are derived from.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { Client } from "../../client/client.ts";
import { Crontab } from "../../client/crontab.ts";
import type { CrontabEntry } from "../../client/crontab_entry.ts";
import { ASIDE_MARK, asideIn } from "../../job/aside.ts";
import { parsePayload, performedIn } from "../../job/job.ts";
import { getField, readWireTime } from "../../job/raw.ts";
import type { Stats } from "../../store/admin/admin.ts";
import type { Store } from "../../store/admin/store.ts";
import { type Blocker, blockersOf } from "../../store/ops/blockers.ts";
import type { Batch } from "../../store/port/batches.ts";
import type { Entry } from "../../store/port/entries.ts";
import type { ClassMetricsSeries } from "../../store/port/metrics.ts";
import { ALL_QUEUES } from "../../store/port/paused_queues.ts";
import type { WorkerInfo } from "../../store/port/workers.ts";
import { crashesOf } from "../../text/crashes.ts";
import { endedProcesses } from "../../processes.ts";
import { readEnds } from "../query/cron_ends.ts";
import { queueSizes, readBacklog } from "../query/backlog.ts";
import { type HeldGroup, type LastSettings, readLastSettings } from "../query/last_settings.ts";
import type { FailedWrite, Sample, Situation, Unhandled } from "./alert.ts";
import { heldEntries, heldRuns, recentRuns } from "./cron_alerts.ts";
import { CRASH_ERROR } from "./failure_alerts.ts";
import { behindQueues, MAX_BEHIND } from "./queue_alerts.ts";

/** The queues, and jobs of each, that are checked for classes without a handler. */
const MAX_QUEUES = 20;
const JOBS_PER_QUEUE = 10;
/** Places of jobs aside of a queue that are checked for it. */
const MAX_ASIDES = 20;
/** Scheduled jobs that are checked for it: where Sidekiq takes from the queue, too, a worker without the class postpones the job. */
const MAX_SCHEDULED = 50;
/** Retrying jobs, those that are due first, that are read to name what fails. */
const MAX_RETRYING = 50;
/** Running jobs that are checked for earlier crashes. */
const MAX_RUNNING = 50;
/** Dead jobs that are checked for crashes. */
const MAX_DEAD = 20;
/** Cron entries that are checked: the first by name, and those that are due first. */
const MAX_CRON = 1_000;
const MAX_DUE_CRON = 100;
/** Runs that are read of an entry whose latest one is held up. */
const MAX_HISTORY = 100;
/** Groups of a queue that is behind, in the order of their names, among which the held ones are looked for. */
const MAX_GROUPS = 100;
/** The latest batches, and as many flows, that are checked. */
const MAX_BATCHES = 100;

/** Where the state is read. */
export interface SituationSource {
  readonly store: Store;
  readonly clock: Clock;
  /** Counts of the last minutes, the earliest first, if they are known. */
  readonly samples?: readonly Sample[];
  /** The last write of this process, if it failed. */
  readonly failedWrite?: FailedWrite | undefined;
  /** The classes with a handler on this machine. */
  readonly classes: readonly string[];
  /** Reads the metrics of the last hour; default: from the store. */
  readonly readMetrics?: () => Promise<ClassMetricsSeries[]>;
}

/** Returns the totals as a sample. */
export function sampleOf({ processed, failed, retry, queues }: Stats, at: number): Sample {
  return { at, processed, failed, retrying: retry, queues: queueSizes(queues) };
}

/** Reads the state. Some twenty round trips, most of them at once. */
export async function readSituation(source: SituationSource): Promise<Situation> {
  const { store, clock, samples = [], failedWrite, readMetrics = () => store.series.read("classes", "1h") } = source;
  const began = clock.monotonic();
  const stats = await store.admin.stats();
  const roundTripMs = clock.monotonic() - began;
  const now = clock.now();
  const crontab = new Crontab({ store, client: new Client({ store, clock }), clock });
  const [workers, metrics, [today], cron] = await Promise.all([
    store.workers.list(),
    readMetrics(),
    store.series.read("days", { from: now, to: now }),
    readCron(crontab),
  ]);
  const engine = engineOf(store);
  const [
    { unhandled, suspects, scheduled },
    crashes,
    retrying,
    cronEnds,
    cronHeld,
    settings,
    stuck,
    serverFindings,
    backlogs,
    declarations,
  ] = await Promise
    .all([
      waitingJobs(source, stats, workers),
      crashedJobs(store),
      stats.retry === 0 ? [] : retryingJobs(store),
      readEnds(store, recentRuns(cron, now)),
      readHeld(crontab, heldEntries(cron, now)),
      readSettings(store, stats, workers, cron),
      stuckBatches(store),
      engine === "redis" ? [] : serverFindingsOf(store),
      readBacklogs(store, stats, workers, { samples, now }),
      store.classes.declarations(),
    ]);
  const later = new Set([...scheduled, ...retrying.map(({ queue }) => queue)]);
  return {
    engine,
    ...failedWrite !== undefined && { failedWrite },
    ...{
      now,
      stats,
      roundTripMs,
      workers,
      processes: endedProcesses(workers),
      metrics,
      today: today ?? { processed: 0, failed: 0 },
    },
    ...{
      samples,
      cron,
      cronEnds,
      cronHeld,
      crashes,
      suspects,
      retrying,
      later,
      unhandled,
      ...settings,
      stuck,
      serverFindings,
      backlogs,
      declarations,
    },
  };
}

function engineOf({ url }: Store): Situation["engine"] {
  return url.startsWith("sqlite:") ? "sqlite" : url.startsWith("postgres") ? "postgres" : "redis";
}

async function serverFindingsOf({ admin }: Store): Promise<Situation["serverFindings"]> {
  return (await admin.health()).findings.filter(({ isAlert }) => isAlert);
}

async function readSettings(
  store: Store,
  { queues }: Stats,
  workers: readonly WorkerInfo[],
  cron: readonly CrontabEntry[],
): Promise<LastSettings> {
  const behind = behindQueues(queues, workers);
  // More of them share an alert, which names no group.
  const named = behind.length > MAX_BEHIND ? [] : behind.filter(({ heldGroups }) => heldGroups !== undefined);
  const groups = await Promise.all(named.map(({ name }) => slowGroups(store, name)));
  return await readLastSettings(store, queues, groups.flat(), cron);
}

async function readBacklogs(
  { admin }: Store,
  { queues }: Stats,
  workers: readonly WorkerInfo[],
  { samples, now }: { readonly samples: readonly Sample[]; readonly now: number },
): Promise<Situation["backlogs"]> {
  const behind = behindQueues(queues, workers);
  // More of them share an alert.
  if (behind.length > MAX_BEHIND) return new Map();
  return new Map(
    await Promise.all(
      behind.map(async (queue) => [queue.name, await readBacklog(admin, queue, samples, now)] as const),
    ),
  );
}

/** Returns groups of a queue with queued jobs, the slowest first. That of all its groups is one of them. */
async function slowGroups({ admin }: Store, queue: string): Promise<HeldGroup[]> {
  const { groups, slowest } = await admin.groups(queue, { limit: MAX_GROUPS, withSlowest: true });
  const isRead = slowest === undefined || groups.some(({ name }) => name === slowest.name);
  const further = isRead ? [] : (await admin.groups(queue, { group: slowest.name })).groups;
  return [...further, ...groups].filter(({ size }) => size > 0).toSorted((a, b) => b.latencyMs - a.latencyMs)
    .map((group) => ({ queue, group }));
}

async function readCron(crontab: Crontab): Promise<CrontabEntry[]> {
  const pages = await Promise.all([
    crontab.page({ limit: MAX_CRON }),
    crontab.page({ sort: "next", limit: MAX_DUE_CRON }),
  ]);
  return [...new Map(pages.flatMap(({ entries }) => entries.map((entry) => [entry.name, entry]))).values()];
}

async function readHeld(crontab: Crontab, entries: readonly CrontabEntry[]): Promise<Situation["cronHeld"]> {
  const held = await Promise.all(entries.map(async ({ name, live }) => {
    const runs = heldRuns(live!, await crontab.history(name, MAX_HISTORY));
    return runs === undefined ? [] : [[name, runs] as const];
  }));
  return new Map(held.flat());
}

async function crashedJobs({ admin }: Store): Promise<Situation["crashes"]> {
  const { entries } = await admin.page({ in: "dead" }, { limit: MAX_DEAD, reverse: true });
  return entries.filter(({ payload }) => textIn(payload, "error_class") === CRASH_ERROR).map((
    { payload, ref, at = 0 },
  ) => ({
    class: classIn(payload) ?? "(unreadable)",
    jid: textIn(payload, "jid") ?? "",
    ref,
    at,
  }));
}

async function retryingJobs({ admin }: Store): Promise<Situation["retrying"]> {
  const { entries } = await admin.page({ in: "retry" }, { limit: MAX_RETRYING });
  return entries.map(({ payload }) => ({
    class: classIn(payload)?.slice(0, 200) ?? "(unreadable)",
    queue: textIn(payload, "queue") ?? "default",
    since: readWireTime(getField(payload, "failed_at")),
  }));
}

/** Returns the queued and running jobs whose workers ended with them repeatedly: the first time, it may be the fault of another. */
function suspectsIn(payloads: readonly string[]): Situation["suspects"] {
  return payloads.filter((payload) => payload.includes('"suspected"')).flatMap((text) => {
    const payload = parsePayload(text)?.payload;
    const crashes = crashesOf(payload);
    if (crashes === undefined || crashes.rescues === 0 && crashes.suspected < 2) return [];
    return [{ class: payload!.class, jid: payload!.jid, ...crashes }];
  });
}

/** A queue without a worker. */
const NO_WORKER: readonly Blocker["is"][] = ["no-worker-online", "no-worker-of-queue", "quiet", "stopping"];

/** Reads the heads of queues, for classes without a handler and jobs that may crash their workers. */
async function waitingJobs(
  { store, classes }: SituationSource,
  { queues }: Stats,
  workers: readonly WorkerInfo[],
): Promise<Pick<Situation, "unhandled" | "suspects"> & { readonly scheduled: readonly string[] }> {
  const largest = queues.filter(({ name, size }) => size > 0 && name !== ALL_QUEUES)
    .toSorted((a, b) => b.size - a.size).slice(0, MAX_QUEUES);
  const [declared, scheduled, running, ...pages] = await Promise.all([
    store.classes.read(),
    store.admin.page({ in: "scheduled" }, { limit: MAX_SCHEDULED }),
    // A worker that ends at once has reported none of its jobs: their leases are there.
    store.admin.page({ in: "running" }, { limit: MAX_RUNNING }),
    ...largest.map(({ name }) => store.admin.page({ in: "queue", queue: name }, { limit: JOBS_PER_QUEUE })),
    ...largest.filter(({ aside = 0 }) => aside > 0).map(({ name }) => asideJobs(store, name)),
  ]);
  const known = new Set([...classes, ...declared.map(({ name }) => name)]);
  const postponed = scheduled.entries.filter(({ payload }) => payload.includes('"no_handler_since"'));
  const found = new Map<string, Unhandled>();
  for (const { payload, place } of [...postponed, ...pages.flatMap(({ entries }) => entries)]) {
    const name = classIn(payload)?.slice(0, 200);
    if (name === undefined || found.has(name)) continue;
    const queue = queueOf(payload, place);
    const blockers = blockersOf({ queue, class: name }, { workers, queues }).map(({ is }) => is);
    const isUnheardOf = known.size > 0 && !known.has(name) && NO_WORKER.some((is) => blockers.includes(is));
    if (!isUnheardOf && !blockers.includes("no-handler")) continue;
    const since = readWireTime(getField(payload, "no_handler_since")) ?? readWireTime(getField(payload, "enqueued_at"));
    found.set(name, {
      ...{ class: name, queue, since },
      ...(place.in === "scheduled" && { isScheduled: true }),
      ...(isUnheardOf && { isKnown: false }),
    });
  }
  const waiting = [...scheduled.entries, ...pages.flatMap(({ entries }) => entries)];
  const payloads = [...running.entries, ...waiting].map(({ payload }) => payload);
  return {
    unhandled: [...found.values()],
    suspects: suspectsIn(payloads),
    scheduled: scheduled.entries.map(({ payload, place }) => queueOf(payload, place)),
  };
}

/** Reads the first job of each class of a queue whose jobs wait aside. */
async function asideJobs({ admin }: Store, queue: string): Promise<{ readonly entries: readonly Entry[] }> {
  const { groups } = await admin.groups(queue, { cursor: ASIDE_MARK.slice(0, 1), limit: MAX_ASIDES });
  const places = groups.filter(({ name, size }) => size > 0 && asideIn(name) !== undefined);
  const pages = await Promise.all(
    places.map(({ name: group }) => admin.page({ in: "queue", queue, group }, { limit: 1 })),
  );
  return { entries: pages.flatMap(({ entries }) => entries) };
}

function queueOf(payload: string, place: Entry["place"]): string {
  return place.in === "queue" ? place.queue : textIn(payload, "queue") ?? "default";
}

/** Reads the batches and flows that wait for their dead members, the latest first. */
export async function stuckBatches({ batches }: Pick<Store, "batches">): Promise<Batch[]> {
  const pages = await Promise.all([false, true].map((flows) => batches.read({ flows, limit: MAX_BATCHES })));
  return pages.flatMap((page) => page.batches.filter(({ state }) => state === "stuck"));
}

function classIn(payload: string): string | undefined {
  try {
    return performedIn(payload);
  } catch {
    return undefined;
  }
}

function textIn(payload: string, field: string): string | undefined {
  try {
    const value = getField(payload, field);
    return typeof value === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}
