/**
 * `/queues/NAME`: a queue, its limit, and its jobs.
 *
 * @module
 */
import type { Context, Hono } from "hono";
import { formatDuration } from "../../job/duration.ts";
import { limitGroup, limitQueue } from "../../operator/actions/queues.ts";
import { textsInput } from "../../operator/shapes/shape.ts";
import { formatStarts, type QueueLimit } from "../../store/port/limits.ts";
import { ALL_QUEUES } from "../../store/port/paused_queues.ts";
import { number } from "../../text/format.ts";
import { groupLimitText } from "../../text/groups.ts";
import { limitText } from "../../text/limits.ts";
import { actFor } from "../act.ts";
import { formOf } from "../http/forms.ts";
import { type Chart, queueCharts } from "../read/charts.ts";
import { type GroupList, readGroups } from "../read/groups.ts";
import { requireQueue } from "../read/known.ts";
import { checkQueue, queuePath } from "../read/job_sets.ts";
import { type QueueRow, withWorkers } from "../read/queue_rows.ts";
import { type RunningRow, runningRows, workOf } from "../read/running.ts";
import { type JobList, listOf } from "../read/paging.ts";
import type { Services, WebEnv } from "../services.ts";
import { CHART_SCRIPTS, ChartFigure } from "./charts.tsx";
import { type FieldErrors, fieldErrors, FormProblem, LimitFields } from "./field.tsx";
import { Groups } from "./groups.tsx";
import { JobListView } from "./job_table.tsx";
import { Layout } from "./layout.tsx";
import { QueueActions, QueueState } from "./queues.tsx";
import { back, html, viewOf } from "./responses.tsx";
import { NothingQueued } from "./set.tsx";
import { Hidden, jobs, link, mayAct, type View } from "./view.tsx";
import { Processors } from "./workers.tsx";

/** The form for a limit of a queue, or of each of its groups, opened. */
interface LimitTexts {
  readonly of: "queue" | "each";
  readonly running: string;
  readonly starts: string;
  readonly errors: FieldErrors;
}

/** Adds the page, and the form for the limit. */
export function queueRoutes(app: Hono<WebEnv>, services: Services): void {
  app.get("/queues/:name", (c) => show(services, c, checkQueue(c.req.param("name"))));
  app.post("/queues/:name/limit", async (c) => {
    const name = checkQueue(c.req.param("name"));
    const form = await formOf(c, services);
    const texts = { running: form.get("running")?.trim() ?? "", starts: form.get("starts")?.trim() ?? "" };
    const isEach = form.get("of") === "each";
    try {
      const action = isEach ? limitGroup : limitQueue;
      const input = textsInput(action.takes, { name, ...texts });
      const limit = limitText(await actFor(services, c.get("visitor"), action, input));
      const what = isEach ? `Each group of queue ${name}` : `Queue ${name}`;
      const text = limit ? `${what} is limited to ${limit}.` : `${what} has no limit.`;
      return await back(services, c, { kind: "ok", text }, queuePath(name));
    } catch (error) {
      const errors = fieldErrors(error, { running: "running", starts: "starts" });
      return await show(services, c, name, { of: isEach ? "each" : "queue", ...texts, errors });
    }
  });
  // The address of a refused form: a reload shows the page with the form open.
  app.get("/queues/:name/limit", (c) => c.redirect(services.prefix + queuePath(checkQueue(c.req.param("name"))), 303));
}

async function show(services: Services, c: Context<WebEnv>, name: string, texts?: LimitTexts): Promise<Response> {
  const groupsOf = {
    cursor: c.req.query("groups") || undefined,
    find: (c.req.query("find") ?? "").trim().slice(0, 200),
  };
  const [shared, list, workers, groups, series] = await Promise.all([
    viewOf(services, c),
    listOf(services, c, { in: "queue", queue: name }),
    services.store.workers.list(),
    readGroups(services, name, groupsOf),
    // A live page refreshes its charts separately, less often.
    c.req.header("x-live") === "1" ? [] : services.store.series.read("queues", "1h"),
  ]);
  if (texts === undefined) await requireQueue(services, shared.stats, name);
  const view = texts === undefined ? shared : { ...shared, here: queuePath(name) };
  const known = view.stats.queues.find((one) => one.name === name) ?? { name, size: 0, latencyMs: 0, paused: false };
  const [row] = withWorkers([known], workers);
  const queue = { ...row!, ...(groups.each && { each: groupLimitText(groups.each) }) };
  const running = await runningRows(services, workers.flatMap(workOf).filter(({ job }) => job.queue === name));
  const charts = queueCharts(series, name, services.clock.now());
  const status = texts === undefined && list.errors === undefined ? 200 : 422;
  return html(services, c, <QueuePage {...{ view, queue, groups, running, charts, list, texts }} />, status);
}

function QueuePage({ view, queue, groups, running, charts, list, texts }: {
  readonly view: View;
  readonly queue: QueueRow;
  readonly groups: GroupList;
  /** Its running jobs. */
  readonly running: readonly RunningRow[];
  readonly charts: readonly Chart[];
  readonly list: JobList;
  readonly texts: LimitTexts | undefined;
}) {
  const { workers } = queue;
  const hasGroups = groups.groups.length > 0 || groups.each !== undefined;
  const canAct = mayAct(view, { queue: queue.name });
  return (
    <Layout view={view} title={`Queue ${queue.name}`} scripts={charts.length > 0 ? CHART_SCRIPTS : []}>
      <div class="heading">
        <a class="crumb" href={link(view, "/queues")}>Queues</a>
        <h1>{queue.name}</h1>
        <QueueState queue={queue} />
        {view.stats.queues.some(({ name, paused }) => name === ALL_QUEUES && paused) && (
          <span class="badge warn">all queues paused</span>
        )}
        <span class="note">
          {jobs(queue.size)}
          {queue.size > 0 && `, latency ${formatDuration(queue.latencyMs)}`}
          {workers.length > 0 && (
            <>
              ,{" "}
              <a href={link(view, "/workers")}>
                {number(workers.length)} {workers.length === 1 ? "worker" : "workers"}
              </a>
            </>
          )}
        </span>
        {canAct && (
          <div class="buttons">
            {!queue.paused && <PauseFor view={view} queue={queue.name} />}
            <QueueActions view={view} queue={queue} />
          </div>
        )}
      </div>
      {canAct && (
        <div class="limits">
          <LimitForm {...{ view, name: queue.name, limit: queue.limit, of: "queue", texts }} />
          {hasGroups && <LimitForm {...{ view, name: queue.name, limit: groups.each, of: "each", texts }} />}
        </div>
      )}
      {charts.length > 0 && (
        <div class="charts below">
          {charts.map((chart) => <ChartFigure chart={chart} />)}
        </div>
      )}
      <Running view={view} rows={running} />
      <Groups view={view} queue={queue.name} page={groups} />
      <section>
        <h2>Queued</h2>
        <JobListView view={view} list={list} nothing={<NothingQueued view={view} />} />
      </section>
    </Layout>
  );
}

/** The times of a pause that ends by itself. */
const PAUSES = { "10m": "10 minutes", "1h": "1 hour", "8h": "8 hours" } as const;

function PauseFor({ view, queue }: { readonly view: View; readonly queue: string }) {
  return (
    <details class="popover end">
      <summary class="button">Pause for…</summary>
      <form method="post" action={link(view, `${queuePath(queue)}/pause`)} class="panel">
        <Hidden view={view} fields={{ back: view.here }} />
        {Object.entries(PAUSES).map(([time, label]) => (
          <button type="submit" name="for" value={time} aria-label={`Pause for ${label}`}>
            {label}
          </button>
        ))}
      </form>
    </details>
  );
}

/** Running jobs on the page of a queue. */
const MAX_RUNNING = 10;

function Running({ view, rows }: { readonly view: View; readonly rows: readonly RunningRow[] }) {
  return (
    <section id="queue-running" data-live aria-label="Running jobs">
      {rows.length > 0 && (
        <>
          <h2>{number(rows.length)} running</h2>
          <Processors view={view} rows={rows.slice(0, MAX_RUNNING)} />
          {rows.length > MAX_RUNNING && (
            <p>
              <a href={link(view, "/running")}>All running jobs</a>
            </p>
          )}
        </>
      )}
    </section>
  );
}

/** The form that changes a limit; open after an error, with the texts that were typed. */
function LimitForm({ view, name, limit, of, texts: refused }: {
  readonly view: View;
  readonly name: string;
  readonly limit: QueueLimit | undefined;
  /** Whether it limits the queue or each of its groups. */
  readonly of: LimitTexts["of"];
  readonly texts: LimitTexts | undefined;
}) {
  const { running, starts } = limit ?? {};
  const texts = refused?.of === of ? refused : undefined;
  const errors = texts?.errors ?? {};
  const shown = texts ?? {
    running: running === undefined ? "" : String(running),
    starts: starts === undefined ? "" : formatStarts(starts),
  };
  return (
    <details class="limit" open={texts !== undefined}>
      <summary>
        {limit
          ? `${of === "each" ? "Limit of each group" : "Limit"}: ${limitText(limit)}`
          : of === "each"
          ? "Limit each group"
          : "Set a limit"}
      </summary>
      <FormProblem errors={errors} />
      <form method="post" action={link(view, `${queuePath(name)}/limit`)}>
        <Hidden view={view} fields={{ of }} />
        <LimitFields texts={shown} errors={errors} />
        <button type="submit">{of === "each" ? "Save limit of each group" : "Save limit"}</button>
      </form>
    </details>
  );
}
