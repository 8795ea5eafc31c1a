/**
 * The API's routes about counts, queues, workers, classes, settings and operations.
 *
 * @module
 */
import { RUN_BOUNDS_MS } from "../../store/port/metrics.ts";
import { queueShape } from "../../operator/shapes/queues.ts";
import { list, object, optional } from "../../operator/shapes/shape.ts";
import { text } from "../../operator/shapes/values.ts";
import { isoTime } from "../../text/times.ts";
import { workerJson } from "../../text/workers.ts";
import { readAuditPage } from "../read/audit.ts";
import { actOnJobs } from "../actions/jobs.ts";
import { apiPage } from "../read/rows.ts";
import { measuredClasses, windowOf } from "../read/class_metrics.ts";
import { readTokens } from "../read/tokens.ts";
import { classStats } from "../read/class_stats.ts";
import type { Services } from "../services.ts";
import { recentEnded } from "../read/results.ts";
import { countsOf } from "../read/counts.ts";
import { lastDays, parseDays } from "../read/history.ts";
import { checkQueue } from "../read/job_sets.ts";
import { AUDIT_FILTERS } from "../read/audit.ts";
import { viewRunning } from "../read/job_view.ts";
import type { ApiRoute } from "./routes.ts";
import type { RunningJobRecord, WorkerInfo } from "../../store/port/workers.ts";

const OBJECT = { type: "object" };
const OBJECTS = { type: "array", items: OBJECT };

/** The query of a list that is read whole. */
const LONG_PAGE_QUERY = { cursor: "next of the page before", limit: "1 to 1000; default 1000" };

/** The routes. */
export const stateRoutes: readonly ApiRoute[] = [
  {
    method: "GET",
    path: "/stats",
    access: "read",
    about: "Returns all counts, and the first 1000 queues; next is the cursor of more in /queues",
    answer: OBJECT,
    run: async (c, services) => {
      const stats = await services.store.admin.stats();
      const { items: queues, next } = apiPage(c, stats.queues, ({ name }) => name);
      return { value: { ...countsOf(stats), queues, next } };
    },
  },
  {
    method: "GET",
    path: "/history",
    access: "read",
    about: "Returns processed and failed attempts of each of the last days in UTC, the earliest first",
    query: { days: "number of days, today included, 1 to 1825; default 90" },
    answer: {
      type: "object",
      properties: {
        days: {
          type: "array",
          items: {
            type: "object",
            properties: {
              day: { type: "string", format: "date" },
              processed: { type: "integer" },
              failed: { type: "integer" },
            },
          },
        },
      },
    },
    run: async (c, services) => ({ value: { days: await lastDays(services, parseDays(c.req.query("days"), 90)) } }),
  },
  {
    method: "GET",
    path: "/audit",
    access: "read",
    about: "Lists the actions of users, the latest first; the last 10,000 are kept",
    query: {
      ...Object.fromEntries(Object.entries(AUDIT_FILTERS).map(([name, { about }]) => [name, about])),
      cursor: "next of the page before",
      limit: "1 to 1000; default 50",
    },
    answer: {
      type: "object",
      properties: {
        events: {
          type: "array",
          items: {
            type: "object",
            properties: {
              at: { type: "string", format: "date-time" },
              user: { type: "string" },
              by: { type: "string", description: "how the user was recognized: cookie, token, …, command line" },
              from: { type: "string", description: "an address, or a machine" },
              action: { type: "string" },
              target: { type: "string" },
              count: { type: "integer", description: "how many jobs or workers" },
              outcome: { type: "string", description: "absent if the action was done" },
              details: { type: "string" },
            },
          },
        },
        next: { type: "string", description: "cursor of the next page; absent on the last" },
      },
    },
    run: async (c, services) => {
      const { events, next } = await readAuditPage(services, c);
      return { value: { events: events.map((event) => ({ ...event, at: isoTime(event.at) })), next } };
    },
  },
  {
    method: "GET",
    path: "/queues",
    access: "read",
    about: "Lists the queues with their sizes and latencies, by name",
    query: LONG_PAGE_QUERY,
    answer:
      object("", { queues: list("the queues", queueShape), next: optional(text("cursor of the next page")) }).schema,
    run: async (c, services) => {
      const { items: queues, next } = apiPage(c, (await services.store.admin.stats()).queues, ({ name }) => name);
      return { value: { queues, next } };
    },
  },
  {
    method: "POST",
    path: "/queues/{name}/clear",
    access: "act",
    about: "Deletes all jobs of a queue permanently",
    answer: { type: "object", properties: { changed: { type: "integer" } } },
    run: async (c, services) => {
      const queue = checkQueue(c.req.param("name") ?? "");
      const all = { place: { in: "queue", queue } as const, filter: {} };
      const result = await actOnJobs(services, c.get("visitor"), "delete", all);
      return { value: result, status: result.changed === undefined ? 202 : 200 };
    },
  },
  {
    method: "GET",
    path: "/workers",
    access: "read",
    about: "Lists the workers and their running jobs, by ID",
    query: LONG_PAGE_QUERY,
    answer: { type: "object", properties: { workers: OBJECTS, next: { type: "string" } } },
    run: async (c, services) => {
      const { items: workers, next } = apiPage(c, await services.store.workers.list(), ({ id }) => id);
      const weigh = ({ work }: WorkerInfo) => work.reduce((sum, { payload }) => sum + payload.length, 0);
      const map = (one: WorkerInfo) => workerJson(one, (job) => runningJson(job, services));
      return { value: { workers: await services.slices.map(workers, { weigh, map }), next } };
    },
  },
  {
    method: "GET",
    path: "/classes",
    access: "read",
    about: "Returns statistics of each class: of all attempts over a window, and of the latest results",
    query: { over: "1h, 8h or 72h; default 1h" },
    answer: {
      type: "object",
      properties: { measured: OBJECT, classes: OBJECTS, records: { type: "integer" } },
    },
    run: async (c, services) => {
      const window = windowOf(c.req.query("over"));
      const [{ rows }, all] = await Promise.all([recentEnded(services), services.measures.read(window)]);
      const measured = { ...measuredClasses(window, all), boundsMs: RUN_BOUNDS_MS };
      return { value: { measured, classes: classStats(rows), records: rows.length } };
    },
  },
  {
    method: "GET",
    path: "/tokens",
    access: "read",
    about:
      "Lists the API tokens by name: role, scope, and when this process last served each; web.users adds and revokes them",
    answer: { type: "object", properties: { tokens: OBJECTS } },
    run: (_c, services) => {
      const tokens = readTokens(services).map(({ name, role, scope, lastUsedAt }) => {
        return { name, role, ...scope, lastUsed: lastUsedAt === undefined ? null : isoTime(lastUsedAt) };
      });
      return Promise.resolve({ value: { tokens } });
    },
  },
  {
    method: "GET",
    path: "/settings",
    access: "read",
    about: "Lists the settings as this process loaded them",
    answer: { type: "object", properties: { settings: OBJECTS } },
    run: (_c, services) => {
      const settings = services.settings.map((row) => ({ ...row, value: services.mask.value(row.value) }));
      return Promise.resolve({ value: { settings } });
    },
  },
  {
    method: "GET",
    path: "/operations",
    access: "read",
    about: "Lists the long operations that are running or ended within the last 30 s",
    answer: {
      type: "object",
      properties: {
        operations: {
          type: "array",
          items: {
            type: "object",
            properties: {
              label: { type: "string" },
              changed: { type: "integer", description: "jobs changed so far" },
              total: { type: "integer", description: "jobs at the start; 0 if unknown" },
              state: { enum: ["running", "succeeded", "failed"] },
              error: { type: "string" },
            },
          },
        },
      },
    },
    run: (_c, services) => Promise.resolve({ value: { operations: services.operations.list() } }),
  },
];

/** Returns a running job as `jobs workers --json` prints it, but masked, with its payload. */
function runningJson(job: RunningJobRecord, { mask }: Services): Record<string, unknown> {
  const { jid, class: name, queue, payload, progress, lastLine, log } = viewRunning(job, mask);
  const startedAt = isoTime(job.since);
  const { task: processor, abortReason } = job;
  return { processor, jid, class: name, queue, startedAt, progress, lastLine, log, abortReason, payload };
}
