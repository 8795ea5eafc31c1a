/**
 * Reads the state of the system, and derives its alerts.
 *
 * @module
 */
import { getField } from "../../job/raw.ts";
import type { Stats } from "../../store/admin/admin.ts";
import { blockersOf } from "../../store/ops/blockers.ts";
import { ALL_QUEUES } from "../../store/port/paused_queues.ts";
import type { WorkerInfo } from "../../store/port/workers.ts";
import type { Services } from "../services.ts";
import type { Alert, Situation } from "./alert.ts";
import { alertsOf, CRASH_ERROR, recentRuns } from "./alerts.ts";
import { readEnds } from "./cron_ends.ts";
import { viewEntry } from "./job_view.ts";

/** The queues, and jobs of each, that are checked for classes without a handler. */
const MAX_QUEUES = 10;
const JOBS_PER_QUEUE = 10;
/** How long alerts are cached: each page that follows live updates reads them every 2 s. */
const CACHE_MS = 2_000;

/** Reads the alerts, at most every two seconds. */
export class RecentAlerts {
  #reading: { readonly alerts: Promise<Alert[]>; readonly until: number } | undefined;

  /** Returns the alerts as of at most two seconds ago. */
  read(services: Services): Promise<Alert[]> {
    const now = services.clock.monotonic();
    if (this.#reading !== undefined && now < this.#reading.until) return this.#reading.alerts;
    const reading = { alerts: readAlerts(services), until: now + CACHE_MS };
    this.#reading = reading;
    reading.alerts.catch(() => this.#reading === reading && (this.#reading = undefined));
    return reading.alerts;
  }
}

async function readAlerts(services: Services): Promise<Alert[]> {
  const { store, clock, measures, crontab, feed } = services;
  const now = clock.now();
  const [stats, workers, metrics, [today], cron] = await Promise.all([
    store.admin.stats(),
    store.workers.list(),
    measures.read("1h"),
    store.series.read("days", { from: now, to: now }),
    crontab.list(),
  ]);
  const [unhandled, crashes, cronEnds] = await Promise.all([
    unhandledClasses(services, stats, workers),
    crashedJobs(services),
    readEnds(services, recentRuns(cron, now)),
  ]);
  const counts = today ?? { processed: 0, failed: 0 };
  const { samples } = feed;
  return alertsOf({ now, stats, workers, metrics, today: counts, samples, cron, cronEnds, unhandled, crashes });
}

/** Dead jobs that are checked for crashes. */
const MAX_DEAD = 20;

async function crashedJobs({ store, mask }: Services): Promise<Situation["crashes"]> {
  const { entries } = await store.admin.page({ in: "dead" }, { limit: MAX_DEAD, reverse: true });
  return entries.filter(({ payload }) => payload.includes(`"${CRASH_ERROR}"`)).flatMap((entry) => {
    const { class: name, jid, ref, error, at = 0 } = viewEntry(entry, mask);
    return error.startsWith(`${CRASH_ERROR}:`) ? [{ class: name, jid, ref, at }] : [];
  });
}

async function unhandledClasses(
  { store }: Services,
  stats: Stats,
  workers: readonly WorkerInfo[],
): Promise<{ class: string; queue: string }[]> {
  const queues = stats.queues.filter(({ name, size }) => size > 0 && name !== ALL_QUEUES)
    .toSorted((a, b) => b.size - a.size).slice(0, MAX_QUEUES);
  const pages = await Promise.all(
    queues.map(({ name }) => store.admin.page({ in: "queue", queue: name }, { limit: JOBS_PER_QUEUE })),
  );
  const found = new Map<string, { class: string; queue: string }>();
  for (const [i, { entries }] of pages.entries()) {
    const queue = queues[i]!.name;
    for (const { payload } of entries) {
      const name = classOf(payload);
      if (name === undefined || found.has(name)) continue;
      const blockers = blockersOf({ queue, class: name }, { workers, queues: stats.queues });
      if (blockers.some(({ is }) => is === "no-handler")) found.set(name, { class: name, queue });
    }
  }
  return [...found.values()];
}

function classOf(payload: string): string | undefined {
  try {
    const name = getField(payload, "class");
    return typeof name === "string" ? name.slice(0, 200) : undefined;
  } catch {
    return undefined;
  }
}
