/**
 * The API's routes about counts, queues, workers, classes, settings and operations.
 *
 * @module
 */
import { RUN_BOUNDS_MS } from "../../store/port/metrics.ts";
import { groupPageShape, queuePageShape } from "../../operator/shapes/queues.ts";
import type { JsonOf } from "../../operator/shapes/shape.ts";
import {
  apiStatsShape,
  auditPageShape,
  classesShape,
  daysShape,
  operationsShape,
  settingsShape,
  tokensShape,
} from "../../operator/shapes/stats.ts";
import { apiWorkerPageShape, type apiWorkerShape } from "../../operator/shapes/workers.ts";
import { isoTime } from "../../text/times.ts";
import { workerJson } from "../../text/workers.ts";
import { AUDIT_FILTERS, readAuditPage } from "../read/audit.ts";
import { queryOf } from "../read/filter.ts";
import { pageOf } from "../read/paging.ts";
import { apiPage } from "../read/rows.ts";
import { measuredClasses, windowOf } from "../read/class_metrics.ts";
import { readTokens } from "../read/tokens.ts";
import { classStats } from "../read/class_stats.ts";
import type { Services } from "../services.ts";
import { recentEnded } from "../read/results.ts";
import { countsOf } from "../read/counts.ts";
import { lastDays, parseDays } from "../read/history.ts";
import { checkQueue } from "../read/job_sets.ts";
import { viewRunning } from "../read/job_view.ts";
import { type ApiRoute, pageQuery, reads } from "./route.ts";
import type { RunningJobRecord, WorkerInfo } from "../../store/port/workers.ts";

/** The routes. */
export const stateRoutes: readonly ApiRoute[] = [
  reads({
    path: "/stats",
    about: "Returns all counts, and the first 1000 queues; next is the cursor of more in /queues",
    shape: apiStatsShape,
    run: async (c, services) => {
      const stats = await services.store.admin.stats();
      const { items: queues, next } = apiPage(c, stats.queues, ({ name }) => name);
      return { ...countsOf(stats), queues, next };
    },
  }),
  reads({
    path: "/history",
    about: "Returns processed and failed attempts of each of the last days in UTC, the earliest first",
    query: { days: "number of days, today included, 1 to 1825; default 90" },
    shape: daysShape,
    run: async (c, services) => ({ days: await lastDays(services, parseDays(c.req.query("days"), 90)) }),
  }),
  reads({
    path: "/audit",
    about: "Lists the actions of users, the latest first; the last 10,000 are kept",
    query: {
      ...queryOf(AUDIT_FILTERS),
      ...pageQuery(50),
    },
    shape: auditPageShape,
    run: async (c, services) => {
      const { events, next } = await readAuditPage(services, c);
      return { events: events.map((event) => ({ ...event, at: isoTime(event.at)! })), next };
    },
  }),
  reads({
    path: "/queues",
    about: "Lists the queues with their sizes and latencies, by name",
    query: pageQuery(1_000),
    shape: queuePageShape,
    run: async (c, services) => {
      const { items: queues, next } = apiPage(c, (await services.store.admin.stats()).queues, ({ name }) => name);
      return { queues, next };
    },
  }),
  reads({
    path: "/queues/{name}/groups",
    about: "Lists the groups of a queue by name, with their queued and running jobs, limit, weight and fair share",
    query: pageQuery(50),
    shape: groupPageShape,
    run: async (c, services) => {
      const page = pageOf(c);
      const withSlowest = page.cursor === undefined;
      return await services.store.admin.groups(checkQueue(c.req.param("name") ?? ""), { ...page, withSlowest });
    },
  }),
  reads({
    path: "/workers",
    about: "Lists the workers and their running jobs, by ID",
    query: pageQuery(1_000),
    shape: apiWorkerPageShape,
    run: async (c, services) => {
      const { items: workers, next } = apiPage(c, await services.store.workers.list(), ({ id }) => id);
      const weigh = ({ work }: WorkerInfo) => work.reduce((sum, { payload }) => sum + payload.length, 0);
      const map = (one: WorkerInfo) => workerJson(one, (job) => runningJson(job, services));
      return { workers: await services.slices.map(workers, { weigh, map }), next };
    },
  }),
  reads({
    path: "/classes",
    about: "Returns statistics of each class: of all attempts over a window, and of the latest results",
    query: { over: "1h, 8h or 72h; default 1h" },
    shape: classesShape,
    run: async (c, services) => {
      const window = windowOf(c.req.query("over"));
      const [{ rows }, all] = await Promise.all([recentEnded(services), services.measures.read(window)]);
      const measured = { ...measuredClasses(window, all), boundsMs: RUN_BOUNDS_MS };
      return { measured, classes: classStats(rows), records: rows.length };
    },
  }),
  reads({
    path: "/tokens",
    about:
      "Lists the API tokens by name: role, scope, and when this process last served each; web.users adds and revokes them",
    shape: tokensShape,
    run: (_c, services) => {
      const tokens = readTokens(services).map(({ name, role, scope, lastUsedAt }) => {
        return { name, role, ...scope, lastUsed: isoTime(lastUsedAt) ?? null };
      });
      return Promise.resolve({ tokens });
    },
  }),
  reads({
    path: "/settings",
    about: "Lists the settings as this process loaded them",
    shape: settingsShape,
    run: (_c, services) => {
      const settings = services.settings.map(({ shown: _, ...row }) => ({
        ...row,
        value: services.mask.value(row.value),
      }));
      return Promise.resolve({ settings });
    },
  }),
  reads({
    path: "/operations",
    about: "Lists the long operations that are running or ended within the last 30 s",
    shape: operationsShape,
    run: (_c, services) => Promise.resolve({ operations: services.operations.list() }),
  }),
];

/** Returns a running job as `jobs workers --json` prints it, but masked, with its payload. */
function runningJson(job: RunningJobRecord, { mask }: Services): JsonOf<typeof apiWorkerShape>["jobs"][number] {
  const { jid, class: name, queue, payload, progress, lastLine, log } = viewRunning(job, mask);
  const startedAt = isoTime(job.since)!;
  const { task: processor, abortReason } = job;
  const abortedAt = isoTime(job.abortedAt);
  return { processor, jid, class: name, queue, startedAt, progress, lastLine, log, abortReason, abortedAt, payload };
}
