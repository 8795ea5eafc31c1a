/**
 * The routes of the pages. Each reads its data concurrently, then renders.
 *
 * @module
 */
import type { Hono } from "hono";
import type { Stats } from "../../store/admin/admin.ts";
import type { SetName } from "../../store/port/entries.ts";
import { WINDOWS } from "../../store/port/metrics.ts";
import { ALL_QUEUES } from "../../store/port/paused_queues.ts";
import { allows } from "../auth/access.ts";
import { readAuditPage } from "../read/audit.ts";
import { classChart, durationChart, rangeOf, readCharts } from "../read/charts.ts";
import { groupErrors } from "../read/grouped_errors.ts";
import { readFilter } from "../read/filter.ts";
import { heatMap } from "../read/heat_map.ts";
import { measuredClasses, windowOf } from "../read/class_metrics.ts";
import { classStats } from "../read/class_stats.ts";
import type { Services, WebEnv } from "../services.ts";
import { endedJob, endedOf, recentEnded } from "../read/results.ts";
import { declaredSchema, lookUp } from "../read/job.ts";
import { requireClass, requireQueue } from "../read/known.ts";
import { HttpError } from "../http/body.ts";
import { checkQueue } from "../read/job_sets.ts";
import { listOf } from "../read/paging.ts";
import { searchEverywhere } from "../read/search.ts";
import { byId, runningRows, workOf } from "../read/running.ts";
import { readTokens } from "../read/tokens.ts";
import { AuditPage } from "./audit.tsx";
import { ClassesPage, ClassPage, classSortOf } from "./classes.tsx";
import { stepRows, stepsOf } from "../read/steps.ts";
import { shownStream } from "../read/stream.ts";
import { FinishedJobPage, FinishedPage } from "./finished.tsx";
import { ErrorGroupsPage } from "./error_groups.tsx";
import { html, viewOf } from "./responses.tsx";
import { waitingNode } from "../../operator/query/waiting_nodes.ts";
import { link } from "./view.tsx";
import { JobPage } from "./job.tsx";
import { Overview } from "./overview.tsx";
import { SearchPage } from "./misc.tsx";
import { RunningPage } from "./running.tsx";
import { SettingsPage } from "./settings.tsx";
import { WorkersPage } from "./workers.tsx";
import { behindFirst } from "../../text/queues.ts";
import { queueRows } from "../read/queue_rows.ts";
import { rowsOf } from "../read/rows.ts";
import { QueuesPage } from "./queues.tsx";
import { QueuedPage, SetPage } from "./set.tsx";

const SET_PATHS: Readonly<Record<string, SetName>> = {
  "/scheduled": "scheduled",
  "/retrying": "retry",
  "/dead": "dead",
};

/** The longest name of a class in a URL. */
const MAX_CLASS_CHARS = 300;

/** Adds the pages. */
export function viewRoutes(app: Hono<WebEnv>, services: Services): void {
  const { store, mask } = services;

  app.get("/", async (c) => {
    // A visitor that only sends signals has a single page.
    if (!allows("read", c.get("visitor").role)) return c.redirect(`${services.prefix}/signals`, 303);
    const range = rangeOf(c.req.query("range"));
    // A live page refreshes its charts separately, less often.
    const withCharts = c.req.header("x-live") !== "1";
    const [view, workers, alerts, charts] = await Promise.all([
      viewOf(services, c),
      store.workers.list(),
      services.alerts.read(services),
      withCharts ? readCharts(services, range) : [],
    ]);
    const { samples } = services.feed;
    return html(services, c, <Overview {...{ view, workers, samples, alerts, range, charts }} />);
  });

  app.get("/running", async (c) => {
    const [view, workers] = await Promise.all([viewOf(services, c), store.workers.list()]);
    const page = rowsOf(c, byId(workers).flatMap(workOf), ({ worker, job }) => `${worker.id} ${job.queue}`);
    const running = await runningRows(services, page.rows);
    return html(services, c, <RunningPage {...{ view, workers, page, running }} />);
  });

  for (const path of ["/queued", "/queued/:name"]) {
    app.get(path, async (c) => {
      const view = await viewOf(services, c);
      const queue = c.req.param("name") ?? longestQueue(view.stats);
      if (queue !== undefined) await requireQueue(services, view.stats, checkQueue(queue));
      const place = queue === undefined ? undefined : { in: "queue", queue: checkQueue(queue) } as const;
      const here = place && `/queued/${encodeURIComponent(place.queue)}`;
      const list = place && await listOf(services, c, place, here);
      return html(services, c, <QueuedPage view={view} list={list} />, list?.errors === undefined ? 200 : 422);
    });
  }

  app.get("/queues", async (c) => {
    const [view, workers, series] = await Promise.all([
      viewOf(services, c),
      store.workers.list(),
      store.series.read("queues", "1h"),
    ]);
    const named = behindFirst(view.stats.queues.filter(({ name }) => name !== ALL_QUEUES));
    const page = rowsOf(c, named, ({ name }) => name);
    const rows = await queueRows(services, page.rows, workers);
    return html(services, c, <QueuesPage view={view} page={{ ...page, rows }} series={series} />);
  });

  for (const [path, set] of Object.entries(SET_PATHS)) {
    app.get(path, async (c) => {
      if (set !== "scheduled" && c.req.query("by") === "error") {
        const { filter, errors } = readFilter(new URL(c.req.url).searchParams);
        const [view, grouped] = await Promise.all([
          viewOf(services, c),
          errors === undefined ? groupErrors(services, { in: set }, filter) : undefined,
        ]);
        const status = errors === undefined ? 200 : 422;
        return html(services, c, <ErrorGroupsPage {...{ view, set, path, filter, errors, grouped }} />, status);
      }
      const [view, list] = await Promise.all([viewOf(services, c), listOf(services, c, { in: set })]);
      return html(services, c, <SetPage view={view} set={set} list={list} />, list.errors === undefined ? 200 : 422);
    });
  }

  app.get("/jobs/:jid", async (c) => {
    const jid = c.req.param("jid");
    const [view, workers] = await Promise.all([viewOf(services, c), store.workers.list()]);
    const details = await lookUp(services, { jid, ref: c.req.query("ref") }, {
      stats: view.stats,
      workers,
      isFresh: true,
    });
    const ended = details.length === 0 ? await endedJob(services, jid) : undefined;
    const waiting = details.length === 0 && ended === undefined ? await waitingNode(store, jid) : undefined;
    if (waiting !== undefined) return c.redirect(link(view, `/flows/${encodeURIComponent(waiting.flow)}`));
    if (details.length === 0 && ended === undefined) {
      const reasons = "it may have ended without a record, have been deleted, or be in another store";
      throw new HttpError(404, `Job "${jid.slice(0, 80)}" not found: ${reasons}`);
    }
    const stream = await shownStream(services, jid);
    return html(
      services,
      c,
      ended ? <FinishedJobPage view={view} job={ended} stream={stream} /> : (
        <JobPage
          {...{ view, jid, details, stream }}
          durable={stepRows(c, await stepsOf(services, jid))}
        />
      ),
    );
  });

  app.get("/finished", async (c) => {
    const [view, list] = await Promise.all([viewOf(services, c), endedOf(services, c)]);
    return html(services, c, <FinishedPage view={view} list={list} />);
  });

  app.get("/classes", async (c) => {
    const window = windowOf(c.req.query("over"));
    const [view, all] = await Promise.all([viewOf(services, c), services.measures.read(window)]);
    const measured = measuredClasses(window, all);
    return html(services, c, <ClassesPage {...{ view, measured, sort: classSortOf(c.req.query("sort")) }} />);
  });

  app.get("/classes/:name", async (c) => {
    const name = c.req.param("name").slice(0, MAX_CLASS_CHARS);
    const window = windowOf(c.req.query("over"));
    const [view, all, { rows }, histograms, schema] = await Promise.all([
      viewOf(services, c),
      services.measures.read(window),
      recentEnded(services),
      store.series.read("histograms", { class: name, window }),
      declaredSchema(services, name),
    ]);
    const one = measuredClasses(window, all.filter((other) => other.class === name)).classes[0];
    const recent = classStats(rows.filter((row) => row.class === name))[0];
    if (one === undefined && recent === undefined) await requireClass(services, name);
    const now = services.clock.now();
    const charts = one === undefined ? [] : [classChart(one, window, now), durationChart(histograms, window, now)];
    const heat = one && heatMap(histograms, WINDOWS[window].stepMs);
    return html(services, c, <ClassPage {...{ view, name, window, one, recent, charts, heat, schema }} />);
  });

  app.get("/audit", async (c) => {
    const [view, list] = await Promise.all([viewOf(services, c), readAuditPage(services, c)]);
    return html(services, c, <AuditPage view={view} list={list} />);
  });

  app.get("/workers", async (c) => {
    const [view, workers] = await Promise.all([viewOf(services, c), store.workers.list()]);
    const page = rowsOf(c, byId(workers), ({ id, tag, labels }) => [id, tag, ...labels].join(" "));
    const running = await runningRows(services, page.rows.flatMap(workOf));
    return html(services, c, <WorkersPage {...{ view, workers, page, running }} />);
  });

  app.get("/settings", async (c) => {
    const [view, tokens] = [await viewOf(services, c), readTokens(services)];
    return html(services, c, <SettingsPage {...{ view, settings: services.settings, tokens, mask }} />);
  });

  app.get("/search", async (c) => {
    const text = (c.req.query("q") ?? "").trim().slice(0, 500);
    const [view, results] = await Promise.all([viewOf(services, c), searchEverywhere(services, text)]);
    return html(services, c, <SearchPage {...{ view, text, results }} />);
  });
}

/** Returns the name of the queue with the most jobs; undefined when all are empty. */
function longestQueue({ queues }: Stats): string | undefined {
  const filled = queues.filter(({ name, size }) => name !== ALL_QUEUES && size > 0);
  return filled.sort((a, b) => b.size - a.size)[0]?.name;
}
