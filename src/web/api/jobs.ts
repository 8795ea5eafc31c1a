/**
 * The API's routes that read jobs.
 *
 * @module
 */
import { allows } from "../auth/access.ts";
import { awaitResult } from "../../store/ops/await.ts";
import type { Context } from "hono";
import { finishedPageShape } from "../../operator/shapes/finished.ts";
import { apiJobPageShape, apiShownJobShape, resultShape } from "../../operator/shapes/jobs.ts";
import type { JsonOf } from "../../operator/shapes/shape.ts";
import { finishedJson } from "../../text/finished.ts";
import { inScope } from "../auth/accounts.ts";
import { HttpError } from "../http/body.ts";
import { CRITERIA, CRITERIA_OF_JOBS } from "../../operator/query/criteria.ts";
import { queryOf } from "../read/filter.ts";
import type { Entry } from "../../store/port/entries.ts";
import { ListBudget } from "../read/list_budget.ts";
import { FAR, lookUp } from "../read/job.ts";
import { parsePlace } from "../read/job_sets.ts";
import { payloadLength } from "../read/job_view.ts";
import { entriesOf } from "../read/paging.ts";
import { endedJob, endedOf } from "../read/results.ts";
import type { Services, WebEnv } from "../services.ts";
import { waitingNode } from "../../operator/query/waiting_nodes.ts";
import { nodeJson } from "../../text/flows.ts";
import { jobJson, spanIn } from "./json.ts";
import { type ApiRoute, pageQuery, reads } from "./route.ts";

/** Requests that wait for results at the same time. */
const MAX_WAITING = 1_000;
/** The longest wait for a result. */
const MAX_WAIT_MS = 60_000;

/** The routes. */
export const jobRoutes: readonly ApiRoute[] = [
  reads({
    path: "/jobs",
    about:
      "Lists the jobs in one place, page by page; filters combine. Beyond 4 MiB of payloads, large fields are replaced by their size",
    query: {
      in: "scheduled, retry, dead, running or queue:NAME",
      ...queryOf(CRITERIA_OF_JOBS),
      ...pageQuery(50),
      order: "forward or reverse; default forward, but reverse for dead",
    },
    shape: apiJobPageShape,
    run: listJobs,
  }),
  reads({
    path: "/jobs/{jid}",
    about: "Shows a job in each of its places, usually one, and its result if it has ended",
    query: { ref: "the ref of the entry, which spares a search" },
    shape: apiShownJobShape,
    run: async (c, services) => {
      const jid = c.req.param("jid") ?? "";
      const [stats, workers] = await Promise.all([services.store.admin.stats(), services.store.workers.list()]);
      const found = await lookUp(services, { jid, ref: c.req.query("ref") }, { stats, workers });
      const jobs = found.map(({ entry, before, reasons, progress, log }) => ({
        ...jobJson(entry, services),
        why: reasons,
        position: before === undefined ? undefined : before < FAR ? before + 1 : `more than ${FAR}`,
        progress,
        log,
      }));
      const finished = await endedJob(services, jid);
      const waiting = jobs.length === 0 && finished === undefined ? await waitingNode(services.store, jid) : undefined;
      if (waiting !== undefined) {
        return { jobs: [], waiting: { flow: waiting.flow, ...nodeJson(waiting.node, "waiting") } };
      }
      if (jobs.length === 0 && finished === undefined) throw new HttpError(404, `Job "${jid.slice(0, 80)}" not found`);
      return { jobs, finished: finished && finishedJson(finished) };
    },
  }),
  reads({
    path: "/jobs/{jid}/result",
    access: "result",
    waits: true,
    about: "Returns the result of a job; waits for it if requested",
    query: { wait: "how long to wait, at most 60s; default 0" },
    shape: resultShape,
    run: resultOf,
  }),
  reads({
    path: "/finished",
    about: "Lists the finished jobs whose result is kept, the latest first",
    query: {
      ...queryOf(CRITERIA),
      ...pageQuery(50),
    },
    shape: finishedPageShape,
    run: async (c, services) => {
      const { rows, next } = await endedOf(services, c);
      return { jobs: rows.map(finishedJson), next };
    },
  }),
];

async function listJobs(c: Context<WebEnv>, services: Services): Promise<JsonOf<typeof apiJobPageShape>> {
  const { rows, next, looked } = await entriesOf(services, c, parsePlace(c.req.query("in") ?? ""));
  const budget = new ListBudget();
  const map = (entry: Entry) => jobJson(budget.admit(entry), services);
  const jobs = await services.slices.map(rows, { weigh: payloadLength, map });
  return { jobs, next, looked };
}

/**
 * Returns the result of a job, after waiting for it if requested. A token limited to classes or queues reads the results of
 * those alone. The result of any other job is null, as if the job didn't exist.
 */
async function resultOf(c: Context<WebEnv>, services: Services): Promise<JsonOf<typeof resultShape>> {
  const jid = c.req.param("jid") ?? "";
  const visitor = c.get("visitor");
  // Operators see all jobs.
  const scope = allows("visit", visitor.role) ? undefined : visitor.scope;
  const readResult = async () => {
    const job = await endedJob(services, jid);
    if (job === undefined || !inScope(scope, job)) return undefined;
    // Programs have no use for the names of workers.
    return allows("read", visitor.role) ? finishedJson(job) : { ...finishedJson(job), worker: undefined };
  };
  const waitMs = Math.min(MAX_WAIT_MS, spanIn({ wait: c.req.query("wait") }, "wait") ?? 0);
  const finished = await readResult();
  if (finished !== undefined || waitMs === 0) return { finished: finished ?? null };
  await services.tokens.waiting(MAX_WAITING, async () => {
    const over = new AbortController();
    const signal = AbortSignal.any([c.req.raw.signal, over.signal]);
    const late = services.clock.sleep(waitMs, signal).then(() => over.abort());
    try {
      await awaitResult(services.store, jid, signal);
      // Otherwise the time of the response would tell that a job outside of the scope exists, and when it ends.
      if (scope !== undefined && await readResult() === undefined) await late;
    } finally {
      over.abort();
    }
  });
  return { finished: await readResult() ?? null };
}
