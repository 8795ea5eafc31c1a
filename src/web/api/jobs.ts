/**
 * The API's routes about jobs.
 *
 * @module
 */
import type { Context } from "hono";
import { meantOption, optionNames } from "../../job/options.ts";
import type { JobRequest } from "../../job/payload.ts";
import type { Place } from "../../store/admin/admin.ts";
import { actOnJobs, pushAgain, pushJob, pushJobs } from "../actions/jobs.ts";
import { HttpError } from "../http/body.ts";
import type { Services, WebEnv } from "../services.ts";
import { endedJob, endedOf } from "../read/results.ts";
import { FILTERS, parseFilter } from "../read/filter.ts";
import { findEntries, lookUp } from "../read/job.ts";
import { type JobAction, parsePlace } from "../read/job_sets.ts";
import { cancelRunning } from "../actions/workers.ts";
import { scanOf } from "../read/paging.ts";
import { payloadLength } from "../read/scan.ts";
import { text } from "../read/job_view.ts";
import { allowFields, jobJson, MAX_JOBS, objectOf, objectOrListOf, spanIn, textIn } from "./json.ts";
import { closestWord } from "../../text/suggest.ts";
import type { PushScope } from "../auth/accounts.ts";
import type { Visitor } from "../auth/gate.ts";
import type { PushResult } from "../../client/client.ts";
import type { ApiAnswer, ApiRoute } from "./routes.ts";

const REF = { ref: { type: "string", description: "its ref, which spares looking for it" } };
const JOB = { $ref: "#/components/schemas/Job" };
const PUSH = { $ref: "#/components/schemas/Push" };
const CHANGED = {
  type: "object",
  properties: { changed: { type: "integer", description: "absent with status 202: it goes on, see /operations" } },
};
/** What is done with one job, and with many; to cancel one, it may run. */
const ACTIONS_ON_ONE = ["retry", "kill", "delete", "move"] as const;
const ACTIONS = [...ACTIONS_ON_ONE, "cancel"] as const;

/** The routes. */
export const jobRoutes: readonly ApiRoute[] = [
  {
    method: "GET",
    path: "/jobs",
    about: "Lists the jobs in one place, page by page; filters combine",
    query: {
      in: "scheduled, retry, dead, running or queue:NAME",
      ...Object.fromEntries(Object.entries(FILTERS).map(([name, { about }]) => [name, about])),
      cursor: "from the page before",
      limit: "at most so many, 1 to 1000; default 50",
      order: "forward or reverse; default forward, in dead reverse",
    },
    answer: {
      type: "object",
      properties: {
        jobs: { type: "array", items: JOB },
        next: { type: "string", description: "cursor of the next page; absent on the last" },
        looked: { type: "integer", description: "how many were looked at for this page" },
      },
    },
    run: listJobs,
  },
  {
    method: "POST",
    path: "/jobs",
    about: "Pushes a job, or a list of up to 10,000",
    body: { oneOf: [PUSH, { type: "array", items: PUSH, maxItems: MAX_JOBS }] },
    answer: {
      type: "object",
      properties: {
        jid: { type: "string" },
        existed: { type: "boolean", description: "an earlier push with the same Idempotency-Key, id or jid stored it" },
        results: {
          type: "array",
          description: "of a list, one for each",
          items: { type: "object", properties: { jid: { type: "string" }, refused: { type: "string" } } },
        },
      },
    },
    run: push,
  },
  {
    method: "GET",
    path: "/jobs/{jid}",
    about: "Shows a job in each place where it is, usually one; of one that has ended, its record",
    query: { ref: "its ref, which spares looking for it" },
    answer: {
      type: "object",
      properties: { jobs: { type: "array", items: JOB }, finished: { type: "object" } },
    },
    run: async (c, services) => {
      const jid = c.req.param("jid") ?? "";
      const [stats, processes] = await Promise.all([services.store.admin.stats(), services.store.workers.list()]);
      const found = await lookUp(services, { jid, ref: c.req.query("ref") }, { stats, processes });
      const jobs = found.map(({ entry, before, reasons, progress, log }) => ({
        ...jobJson(entry, services),
        before,
        whyNotRunning: reasons,
        progress,
        log,
      }));
      const finished = await endedJob(services, jid);
      if (jobs.length === 0 && finished === undefined) throw new HttpError(404, `No job "${jid.slice(0, 80)}"`);
      return { value: { jobs, finished } };
    },
  },
  {
    method: "GET",
    path: "/jobs/{jid}/result",
    about: "Shows how a job has ended, if need be after waiting for it",
    query: { wait: "how long to wait, at most 60s; default not at all" },
    answer: {
      type: "object",
      properties: {
        finished: { type: ["object", "null"], description: "null: it has not ended, or its record is gone" },
      },
    },
    run: resultOf,
  },
  ...ACTIONS_ON_ONE.map((action): ApiRoute => ({
    method: "POST",
    path: `/jobs/{jid}/${action}`,
    about: {
      retry: "Puts a job into its queue, now",
      kill: "Moves a job to dead",
      delete: "Deletes a job, for good",
      move: "Moves a job to another queue",
    }[action],
    body: action === "move"
      ? { type: "object", required: ["queue"], properties: { ...REF, queue: { type: "string" } } }
      : { type: "object", properties: REF },
    answer: CHANGED,
    run: (c, services) => actOnOne(c, services, action),
  })),
  {
    method: "POST",
    path: "/jobs/{jid}/cancel",
    about:
      "Cancels a job: one that runs is aborted, one that waits is removed, which its record tells; not tried again",
    body: { type: "object", properties: REF },
    answer: {
      type: "object",
      properties: {
        asked: { type: "integer", description: "of one that runs: processes asked to abort it" },
        changed: { type: "integer", description: "of one that waits: removed" },
      },
    },
    run: cancel,
  },
  {
    method: "GET",
    path: "/finished",
    about: "Lists the ended jobs whose record is kept, the latest first",
    query: { q: "text anywhere in the record", cursor: "from the page before", limit: "1 to 1000; default 50" },
    answer: {
      type: "object",
      properties: { jobs: { type: "array", items: { type: "object" } }, next: { type: "string" } },
    },
    run: async (c, services) => {
      const { rows, next } = await endedOf(services, c);
      return { value: { jobs: rows, next } };
    },
  },
  {
    method: "POST",
    path: "/jobs/{jid}/push-again",
    about: "Pushes a job again with other arguments, class or queue, and deletes the one it was",
    body: {
      type: "object",
      properties: { ...REF, class: { type: "string" }, args: { type: "array", items: {} }, queue: { type: "string" } },
    },
    answer: { type: "object", properties: { jid: { type: "string" } } },
    run: again,
  },
  {
    method: "POST",
    path: "/actions",
    about: "Does something with many jobs: those named by ref, or all in a place that pass the filters",
    body: {
      type: "object",
      required: ["action"],
      properties: {
        action: { enum: ACTIONS },
        queue: { type: "string", description: "where to move them" },
        refs: { type: "array", items: { type: "string" } },
        all: {
          type: "object",
          required: ["in"],
          properties: {
            in: { type: "string" },
            ...Object.fromEntries(Object.keys(FILTERS).map((name) => [name, { type: "string" }])),
          },
        },
      },
    },
    answer: CHANGED,
    run: actOnMany,
  },
];

async function listJobs(c: Context<WebEnv>, services: Services): Promise<ApiAnswer> {
  const { entries, next, looked } = await scanOf(services, c, parsePlace(c.req.query("in") ?? ""));
  const jobs = await services.slices.map(entries, { weigh: payloadLength, map: (entry) => jobJson(entry, services) });
  return { value: { jobs, next, looked } };
}

async function push(c: Context<WebEnv>, services: Services): Promise<ApiAnswer> {
  const body = await objectOrListOf(c, services);
  const visitor = c.get("visitor");
  const id = c.req.header("idempotency-key");
  if (!Array.isArray(body)) {
    const request = requestOf(body as Record<string, unknown>, visitor.scope);
    const { jid, existed } = await pushJob(services, visitor, id === undefined ? request : { id, ...request });
    return { value: { jid, ...(existed && { existed }) }, status: existed ? 200 : 201 };
  }
  return { value: { results: await pushList(services, visitor, body, id) }, status: 201 };
}

/** Pushes a list. A job that is refused doesn't affect the others: its place has the reason. */
async function pushList(
  services: Services,
  visitor: Visitor,
  list: readonly unknown[],
  id: string | undefined,
): Promise<PushResult[]> {
  const results: PushResult[] = [];
  const requests: JobRequest[] = [];
  const places: number[] = [];
  for (const [i, one] of list.entries()) {
    try {
      const request = requestOf(one, visitor.scope);
      const isObject = typeof request === "object" && request !== null;
      requests.push(id !== undefined && isObject ? { id: `${id}/${i}`, ...request } : request);
      places.push(i);
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      results[i] = { refused: error.message };
    }
  }
  const pushed = await pushJobs(services, visitor, requests);
  for (const [n, i] of places.entries()) results[i] = pushed[n]!;
  return results;
}

/** Shows the record of a job. */
async function resultOf(c: Context<WebEnv>, services: Services): Promise<ApiAnswer> {
  const jid = c.req.param("jid") ?? "";
  const waitMs = Math.min(MAX_WAIT_MS, spanIn({ wait: c.req.query("wait") }, "wait") ?? 0);
  const finished = await endedJob(services, jid);
  if (finished !== undefined || waitMs === 0) return { value: { finished: finished ?? null } };
  await services.tokens.waiting(MAX_WAITING, async () => {
    const over = new AbortController();
    const signal = AbortSignal.any([c.req.raw.signal, over.signal]);
    void services.clock.sleep(waitMs, over.signal).then(() => over.abort());
    try {
      await services.store.results.wait(jid, signal);
    } finally {
      over.abort();
    }
  });
  return { value: { finished: await endedJob(services, jid) ?? null } };
}

/** What a pushed job may have; fields of the program's own go into `fields`. */
const PUSH_FIELDS = ["class", "args", ...optionNames("push"), "fields"];

/** @throws {HttpError} if it has an unknown field, or is outside of the token's scope */
function requestOf(body: unknown, scope: PushScope | undefined): JobRequest {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return body as JobRequest;
  const { fields, ...known } = body as Record<string, unknown>;
  const other = Object.keys(known).find((name) => !PUSH_FIELDS.includes(name));
  if (other !== undefined) {
    const meant = meantOption(other, "push") ?? closestWord(other, PUSH_FIELDS);
    const hint = meant === undefined ? 'a field of your own goes into "fields"' : `did you mean "${meant}"?`;
    throw new HttpError(422, `Unknown field "${other.slice(0, 80)}"; ${hint}`, other.slice(0, 80));
  }
  if (fields !== undefined && (typeof fields !== "object" || fields === null || Array.isArray(fields))) {
    throw new HttpError(422, `"fields" is no object; expected an object such as { "tenant": "acme" }`, "fields");
  }
  const taken = Object.keys(fields ?? {}).find((name) => PUSH_FIELDS.includes(name));
  if (taken !== undefined) {
    throw new HttpError(422, `"fields.${taken}" is an option: put it next to "class"`, `fields.${taken}`);
  }
  const request = { args: [], ...fields, ...known } as unknown as JobRequest;
  checkScope(request, scope);
  return request;
}

/** A limited token names the queue itself: the class's options could lead it elsewhere. */
function checkScope({ class: name, queue }: JobRequest, scope: PushScope | undefined): void {
  if (scope?.classes !== undefined && !scope.classes.includes(name)) {
    throw new HttpError(403, `This token may push only ${scope.classes.join(", ")}`, "class");
  }
  if (scope?.queues !== undefined && !scope.queues.includes(queue ?? "")) {
    throw new HttpError(403, `This token may push only to ${scope.queues.join(", ")}: set "queue"`, "queue");
  }
}

/** The most requests that wait for results at the same time. */
const MAX_WAITING = 1_000;
/** The longest wait for a result. */
const MAX_WAIT_MS = 60_000;

async function actOnOne(c: Context<WebEnv>, services: Services, action: JobAction): Promise<ApiAnswer> {
  const body = await objectOf(c, services);
  allowFields(body, action === "move" ? ["ref", "queue"] : ["ref"]);
  const jid = c.req.param("jid") ?? "";
  const entries = (await findEntries(services, jid, textIn(body, "ref"))).filter((entry) =>
    entry.place.in !== "leased"
  );
  if (entries.length === 0) throw new HttpError(404, `No job "${jid.slice(0, 80)}" that does not run`);
  const refs = entries.map((entry) => entry.ref);
  return { value: await actOnJobs(services, c.get("visitor"), action, { refs }, textIn(body, "queue")) };
}

async function cancel(c: Context<WebEnv>, services: Services): Promise<ApiAnswer> {
  const body = await objectOf(c, services);
  allowFields(body, ["ref"]);
  const jid = c.req.param("jid") ?? "";
  const found = await findEntries(services, jid, textIn(body, "ref"));
  const living = found.filter(({ place }) => place.in !== "dead");
  if (living.length === 0) {
    const why = found.length > 0 ? "that has not failed for good; a dead one is deleted" : "that runs or waits";
    throw new HttpError(404, `No job "${jid.slice(0, 80)}" ${why}`);
  }
  const running = living.flatMap(({ owner }) => owner ?? []);
  for (const owner of running) await cancelRunning(services, c.get("visitor"), jid, owner);
  const refs = living.filter(({ owner }) => owner === undefined).map(({ ref }) => ref);
  if (refs.length === 0) return { value: { asked: running.length } };
  const { changed } = await actOnJobs(services, c.get("visitor"), "cancel", { refs });
  return { value: { ...(running.length > 0 && { asked: running.length }), changed } };
}

async function again(c: Context<WebEnv>, services: Services): Promise<ApiAnswer> {
  const body = await objectOf(c, services);
  allowFields(body, ["ref", "class", "args", "queue"]);
  const jid = c.req.param("jid") ?? "";
  const [entry] = await findEntries(services, jid, textIn(body, "ref"));
  if (entry === undefined) throw new HttpError(404, `No job "${jid.slice(0, 80)}"`);
  const before = jobJson(entry, services).payload as Record<string, unknown>;
  const changed = {
    class: textIn(body, "class") ?? text(before.class),
    args: body.args,
    queue: textIn(body, "queue") ?? (text(before.queue) || "default"),
  };
  return { value: { jid: await pushAgain(services, c.get("visitor"), entry, changed) }, status: 201 };
}

async function actOnMany(c: Context<WebEnv>, services: Services): Promise<ApiAnswer> {
  const body = await objectOf(c, services);
  allowFields(body, ["action", "refs", "all", "queue"]);
  const action = ACTIONS.find((one) => one === body.action);
  if (action === undefined) {
    throw new HttpError(422, `No action "${text(body.action).slice(0, 40)}"; wanted: ${ACTIONS.join(", ")}`);
  }
  const result = await actOnJobs(services, c.get("visitor"), action, selectionOf(body), textIn(body, "queue"));
  return { value: result, status: result.changed === undefined ? 202 : 200 };
}

function selectionOf({ refs, all }: Readonly<Record<string, unknown>>) {
  if (Array.isArray(refs) && refs.every((ref) => typeof ref === "string")) return { refs };
  if (typeof all !== "object" || all === null) {
    throw new HttpError(422, 'Nothing is selected; wanted: "refs", or "all" with "in"');
  }
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(all)) {
    if (name !== "in" && !Object.hasOwn(FILTERS, name)) throw new HttpError(422, `No filter "${name.slice(0, 40)}"`);
    if (typeof value !== "string") throw new HttpError(422, `"${name}" is no text`);
    params.set(name, value);
  }
  const place: Place = parsePlace(params.get("in") ?? "");
  return { place, filter: parseFilter(params) };
}
