/**
 * `/queues/NAME`: a queue, its limit, and its jobs.
 *
 * @module
 */
import type { Context, Hono } from "hono";
import { formatDuration } from "../../job/duration.ts";
import { limitQueue } from "../../operator/actions/queues.ts";
import { textsInput } from "../../operator/shapes/shape.ts";
import type { QueueInfo } from "../../store/admin/admin.ts";
import { formatStarts } from "../../store/port/limits.ts";
import { ALL_QUEUES } from "../../store/port/paused_queues.ts";
import type { GroupPage } from "../../store/port/groups.ts";
import type { WorkerInfo } from "../../store/port/workers.ts";
import { number } from "../../text/format.ts";
import { limitText } from "../../text/limits.ts";
import { actFor } from "../act.ts";
import { formOf } from "../http/forms.ts";
import { requireQueue } from "../read/known.ts";
import { checkQueue, queuePath } from "../read/job_sets.ts";
import { type JobList, listOf } from "../read/paging.ts";
import type { Services, WebEnv } from "../services.ts";
import { type FieldErrors, fieldErrors, FormProblem, LimitFields } from "./field.tsx";
import { Groups } from "./groups.tsx";
import { JobListView } from "./job_table.tsx";
import { Layout } from "./layout.tsx";
import { QueueActions, QueueState } from "./queues.tsx";
import { back, html, viewOf } from "./responses.tsx";
import { NothingQueued } from "./set.tsx";
import { Hidden, jobs, link, mayAct, type View } from "./view.tsx";

/** The form for a queue's limit, opened. */
interface LimitTexts {
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
    try {
      const input = textsInput(limitQueue.takes, { name, ...texts });
      const limit = limitText(await actFor(services, c.get("visitor"), limitQueue, input));
      const text = limit ? `Queue ${name} is limited to ${limit}.` : `Queue ${name} has no limit.`;
      return await back(services, c, { kind: "ok", text }, queuePath(name));
    } catch (error) {
      const errors = fieldErrors(error, { running: "running", starts: "starts" });
      return await show(services, c, name, { ...texts, errors });
    }
  });
  // The address of a refused form: a reload shows the page with the form open.
  app.get("/queues/:name/limit", (c) => c.redirect(services.prefix + queuePath(checkQueue(c.req.param("name"))), 303));
}

async function show(services: Services, c: Context<WebEnv>, name: string, texts?: LimitTexts): Promise<Response> {
  const cursor = c.req.query("groups");
  const [shared, list, workers, groups] = await Promise.all([
    viewOf(services, c),
    listOf(services, c, { in: "queue", queue: name }),
    services.store.workers.list(),
    services.store.admin.groups(name, { withSlowest: true, ...(cursor && { cursor }) }),
  ]);
  if (texts === undefined) await requireQueue(services, shared.stats, name);
  const view = texts === undefined ? shared : { ...shared, here: queuePath(name) };
  const queue = view.stats.queues.find((one) => one.name === name) ?? { name, size: 0, latencyMs: 0, paused: false };
  const fetching = workers.filter((worker) => worker.alive && worker.queues.includes(name));
  const status = texts === undefined && list.errors === undefined ? 200 : 422;
  return html(services, c, <QueuePage {...{ view, queue, groups, fetching, list, texts }} />, status);
}

function QueuePage({ view, queue, groups, fetching, list, texts }: {
  readonly view: View;
  readonly queue: QueueInfo;
  readonly groups: GroupPage;
  /** The online workers that fetch from the queue. */
  readonly fetching: readonly WorkerInfo[];
  readonly list: JobList;
  readonly texts: LimitTexts | undefined;
}) {
  const workers = fetching.length === 0
    ? "no worker"
    : `${number(fetching.length)} ${fetching.length === 1 ? "worker" : "workers"}`;
  return (
    <Layout view={view} title={`Queue ${queue.name}`}>
      <div class="heading">
        <a class="crumb" href={link(view, "/queues")}>Queues</a>
        <h1>{queue.name}</h1>
        <QueueState queue={queue} />
        {view.stats.queues.some(({ name, paused }) => name === ALL_QUEUES && paused) && (
          <span class="badge warn">all queues paused</span>
        )}
        <span class="note">
          {jobs(queue.size)}
          {queue.size > 0 && `, latency ${formatDuration(queue.latencyMs)}`}, {workers}
        </span>
        {mayAct(view, { queue: queue.name }) && (
          <div class="buttons">
            <QueueActions view={view} queue={queue} />
          </div>
        )}
      </div>
      {mayAct(view, { queue: queue.name }) && <LimitForm view={view} queue={queue} texts={texts} />}
      <Groups view={view} queue={queue.name} page={groups} />
      <JobListView view={view} list={list} nothing={<NothingQueued view={view} />} />
    </Layout>
  );
}

/** The form that changes a queue's limit; open after an error, with the texts that were typed. */
function LimitForm({ view, queue: { name, limit }, texts }: {
  readonly view: View;
  readonly queue: QueueInfo;
  readonly texts: LimitTexts | undefined;
}) {
  const { running, starts } = limit ?? {};
  const errors = texts?.errors ?? {};
  const shown = texts ?? {
    running: running === undefined ? "" : String(running),
    starts: starts === undefined ? "" : formatStarts(starts),
  };
  return (
    <details class="limit" open={texts !== undefined}>
      <summary>{limit ? `Limit: ${limitText(limit)}` : "Set a limit"}</summary>
      <FormProblem errors={errors} />
      <form method="post" action={link(view, `${queuePath(name)}/limit`)}>
        <Hidden view={view} />
        <LimitFields texts={shown} errors={errors} />
        <button type="submit">Save limit</button>
      </form>
    </details>
  );
}
