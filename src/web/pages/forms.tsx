/**
 * The forms. Each does one action and leaves a message for the next page. It asks first if the action cannot be undone
 * or concerns all jobs of a place.
 *
 * @module
 */
import type { Context, Hono } from "hono";
import { deleteCookie, setCookie } from "hono/cookie";
import { editJobs, oneJob } from "../../operator/actions/jobs.ts";
import { isRemoval, type JobAction } from "../../operator/actions/job_ids.ts";
import { forgetQueue, pauseAll, pauseQueue, resumeAll, resumeQueue } from "../../operator/actions/queues.ts";
import { Refused } from "../../operator/actions/action.ts";
import { textsInput } from "../../operator/shapes/shape.ts";
import { dump, quiet, resume, stop } from "../../operator/actions/workers.ts";
import { actFor } from "../act.ts";
import { HttpError } from "../http/body.ts";
import type { Services, WebEnv } from "../services.ts";
import { jobsIn } from "../../operator/query/jobs.ts";
import { count } from "../../store/ops/scan.ts";
import { describeCriteria } from "../../operator/query/criteria.ts";
import { type Filter, isEmpty, jobFilter, parseFilter } from "../read/filter.ts";
import { formOf } from "../http/forms.ts";
import { cookieOptions, logOut } from "../auth/login.tsx";
import { parsePlace, placePath } from "../read/job_sets.ts";
import type { Place } from "../../store/port/entries.ts";
import { placeName, readSize } from "../../store/ops/job_sets.ts";
import { groupName } from "../../text/groups.ts";
import { localPath } from "../read/paging.ts";
import { jobs } from "./view.tsx";
import { isTargetQueue, QUEUE_NAME } from "../../job/queue_name.ts";
import { askedAt, askFirst, MovePage, type Question } from "./confirm.tsx";
import { parsePayload } from "../../job/job.ts";
import { endedProcesses } from "../../processes.ts";
import { cancelText } from "../../text/processes.ts";
import { lostSteps } from "../../text/steps.ts";
import { stepsOf } from "../read/steps.ts";
import { stepsForm } from "./steps.tsx";
import { DumpPage } from "./workers.tsx";
import { back, html, THEME_COOKIE, viewOf } from "./responses.tsx";

const DONE: Readonly<Record<JobAction, string>> = {
  retry: "queued",
  kill: "moved to dead",
  cancel: "cancelled",
  delete: "deleted",
  move: "moved",
};
/** The longest time that counting for a question takes. */
const COUNT_MS = 1_000;

/** Adds the forms. */
export function formRoutes(app: Hono<WebEnv>, services: Services): void {
  app.post("/jobs/act", (c) => actOnJobsForm(services, c));
  app.post("/jobs/cancel", async (c) => {
    const form = await formOf(c, services);
    const jid = form.get("jid") ?? "";
    const unable = await whyNotAborted(services, jid);
    const question = await askFirst(services, c, {
      question: `Cancel running job ${jid}?`,
      explanation: `${
        unable === undefined ? "Its worker aborts it" : `Its worker can't abort it: ${unable}`
      }. ${EXPLANATIONS.cancel}`,
      label: "Cancel the job",
    });
    if (question !== undefined) return question;
    await actFor(services, c.get("visitor"), oneJob.cancel, { jid });
    return await back(services, c, {
      kind: "ok",
      text: unable === undefined ? `Cancelling ${jid}…` : `Cancelling ${jid}: ${unable}.`,
    });
  });

  app.post("/jobs/steps", (c) => stepsForm(services, c));

  const pauses = {
    pause: [pauseAll, pauseQueue, "paused"],
    resume: [resumeAll, resumeQueue, "resumed"],
  } as const;
  for (const [verb, [all, one, done]] of Object.entries(pauses)) {
    app.post(`/queues/${verb}`, async (c) => {
      await actFor(services, c.get("visitor"), all, {});
      return await back(services, c, { kind: "ok", text: `All queues ${done}.` });
    });
    app.post(`/queues/:name/${verb}`, async (c) => {
      const name = c.req.param("name");
      const forText = verb === "pause" ? (await formOf(c, services)).get("for") ?? "" : "";
      await actFor(services, c.get("visitor"), one, textsInput(one.takes, { name, for: forText }));
      const time = forText === "" ? "" : ` for ${forText}`;
      return await back(services, c, { kind: "ok", text: `Queue ${name} ${done}${time}.` });
    });
  }
  app.post("/queues/:name/forget", async (c) => {
    const name = c.req.param("name");
    await actFor(services, c.get("visitor"), forgetQueue, { name });
    return await back(services, c, { kind: "ok", text: `Queue ${name} removed from the list.` }, "/queues");
  });

  for (const [verb, actions] of Object.entries({ quiet, resume, stop })) {
    app.post(`/workers/${verb}`, (c) => askForm(services, c, actions, undefined));
    app.post(`/workers/:workerId/${verb}`, (c) => askForm(services, c, actions, c.req.param("workerId")));
  }
  app.post("/workers/:workerId/dump", async (c) => {
    const id = c.req.param("workerId");
    const text = await actFor(services, c.get("visitor"), dump, { id }).then(({ dump }) => dump.join("\n"), (error) => {
      if (error instanceof Refused && error.kind === "unavailable") return undefined;
      throw error;
    });
    return html(services, c, <DumpPage view={await viewOf(services, c)} workerId={id} dump={text} />);
  });

  app.post("/theme", async (c) => {
    const theme = (await formOf(c, services)).get("theme") ?? "";
    const { path } = cookieOptions(c, services);
    if (theme === "auto") deleteCookie(c, THEME_COOKIE, { path });
    else setCookie(c, THEME_COOKIE, theme, { ...cookieOptions(c, services), maxAge: 365 * 86_400 });
    return await back(services, c);
  });
  app.post("/logout", (c) => logOut(c, services));
}

/** Returns whether jobs may be moved to a queue: one that exists, whatever its name, or a new one with a valid name. */
async function canMoveTo({ store }: Services, queue: string): Promise<boolean> {
  return (QUEUE_NAME.test(queue) && isTargetQueue(queue)) ||
    (await store.admin.stats()).queues.some(({ name }) => name === queue);
}

async function actOnJobsForm(services: Services, c: Context<WebEnv>): Promise<Response> {
  const form = await formOf(c, services);
  const { action, all, refs } = readRequest(form);
  const place = parsePlace(form.get("in") ?? "");
  const filter = parseFilter(form);
  const queue = form.get("queue_to")?.trim() ?? "";
  if (!all && refs.length === 0) return await back(services, c, { kind: "bad", text: "No jobs selected." });
  const asOf = askedAt(form) ?? services.clock.now();
  const request: ActRequest = { action, all, refs, place, filter, queue, asOf };
  if (action === "move" && !await canMoveTo(services, queue)) return await askQueue(services, c, request, form);
  const question = (all || isRemoval(action)) && await askFirst(services, c, () => questionOf(services, request));
  if (question) return question;
  const selection = all ? { all: { ...filter, in: placeName(place) } } : { refs };
  const input = { action, ...selection, ...(action === "move" && { queue }) };
  const { changed }: { readonly changed?: number } = await actFor(services, c.get("visitor"), editJobs, input, {
    asOf,
  });
  if (changed === undefined) return await back(services, c, { kind: "ok", text: "Running in the background…" });
  const missed = all ? 0 : refs.length - changed;
  const why = action === "cancel" ? "had moved or cannot be read" : "had moved";
  const text = `${jobs(changed)} ${DONE[action]}.` + (missed > 0 ? ` ${jobs(missed)} ${why}.` : "");
  const gone = localPath(form.get("back") ?? undefined).startsWith("/jobs/");
  return await back(services, c, { kind: missed > 0 ? "bad" : "ok", text }, gone ? placePath(place) : undefined);
}

/** Reads a form: one row's button, or an action on the selected jobs or on all that match. */
function readRequest(form: URLSearchParams): { action: JobAction; all: boolean; refs: string[] } {
  const row = form.get("row");
  if (row === null) {
    return { action: actionOf(form.get("do")), all: form.get("scope") === "all", refs: form.getAll("ref") };
  }
  const end = row.indexOf(":");
  return { action: actionOf(row.slice(0, end)), all: false, refs: [row.slice(end + 1)] };
}

function actionOf(text: string | null): JobAction {
  if (text !== null && Object.hasOwn(DONE, text)) return text as JobAction;
  throw new HttpError(400, `Unknown action "${text?.slice(0, 40) ?? ""}"`);
}

/** An action on jobs, as its form has it. */
interface ActRequest {
  readonly action: JobAction;
  /** All jobs of the place that match the filter, instead of `refs`. */
  readonly all: boolean;
  readonly refs: readonly string[];
  readonly place: Place;
  readonly filter: Filter;
  /** The queue to move to. */
  readonly queue: string;
  /** When the visitor was asked, in epoch milliseconds. */
  readonly asOf: number;
}

async function questionOf(services: Services, request: ActRequest): Promise<Question> {
  const { action, all, refs, place, filter, asOf } = request;
  const label = labelOf(request, all ? await countAll(services, request) : jobs(refs.length));
  const of = all ? ` in ${placeText(place)}${isEmpty(filter) ? "" : ` with ${describeCriteria(filter)}`}` : "";
  const lost = action === "delete" ? await lostWith(services, refs) : "";
  const explanation = [EXPLANATIONS[action], lost].filter(Boolean).join(" ");
  return { question: `${label}${of}?`, explanation, label, asked: all ? asOf : undefined };
}

/** Returns which results of steps are lost with a job, in a sentence; empty for several jobs. */
async function lostWith(services: Services, refs: readonly string[]): Promise<string> {
  const [entry] = refs.length === 1 ? await services.store.admin.get(refs) : [];
  const jid = entry && parsePayload(entry.payload)?.jid;
  const steps = jid === undefined ? [] : (await stepsOf(services, jid)).filter(({ state }) => state !== "waiting");
  return steps.length === 0 ? "" : `The results of its steps are lost: ${lostSteps(steps)}.`;
}

/** Asks for the queue to move jobs to, after an invalid one. */
async function askQueue(
  services: Services,
  c: Context<WebEnv>,
  { all, refs, place, filter, queue }: ActRequest,
  form: URLSearchParams,
): Promise<Response> {
  const view = await viewOf(services, c);
  const count = all ? "all matching jobs" : jobs(refs.length);
  const fields = {
    ...filter,
    in: placeName(place),
    do: "move",
    scope: all ? "all" : undefined,
    back: localPath(form.get("back") ?? undefined),
  };
  const problem = queue === "" ? "Missing queue." : `Invalid queue name "${queue.slice(0, 80)}".`;
  return html(services, c, <MovePage {...{ view, fields, refs, queue, problem }} title={`Move ${count}`} />, 422);
}

function placeText(place: Place): string {
  if (place.in !== "queue") return place.in === "retry" ? "retrying" : placeName(place);
  const queue = `queue ${place.queue}`;
  return place.group === undefined ? queue : `group ${groupName(place.group)} of ${queue}`;
}

/** Returns why the worker of a running job can't abort it; undefined if it can, as far as that is known. */
async function whyNotAborted({ store }: Services, jid: string): Promise<string | undefined> {
  const [entry] = await store.jobs.find([jid]);
  const worker = entry?.worker && (await store.workers.list()).find(({ id }) => id === entry.worker);
  const state = worker && endedProcesses([worker]).get(worker.id);
  return worker && state && cancelText(worker.id, state);
}

const EXPLANATIONS: Readonly<Partial<Record<JobAction, string>>> = {
  delete: "Deleted jobs cannot be restored.",
  kill: "Dead jobs run again only if they are retried. The batch or the job that waits for one counts it as failed.",
  cancel: "Cancelled jobs don't run again. Finished lists them.",
};

/** Returns the label of the button that acts: "Delete 21 jobs". */
function labelOf({ action, place, queue }: ActRequest, count: string): string {
  switch (action) {
    case "retry":
      return place.in === "scheduled" ? `Run ${count} now` : `Retry ${count}`;
    case "kill":
      return `Move ${count} to dead`;
    case "move":
      return `Move ${count} to queue ${queue}`;
    case "cancel":
      return `Cancel ${count}`;
    case "delete":
      return `Delete ${count}`;
  }
}

/** Counts the jobs of an action on all; with a filter, as many as it can count in {@linkcode COUNT_MS}. */
async function countAll(services: Services, { place, filter, asOf }: ActRequest): Promise<string> {
  if (isEmpty(filter)) return jobs(await readSize(services.store.admin, place));
  const { clock } = services;
  const source = jobsIn(services, { place, filter: jobFilter(filter, asOf) });
  const found = await count(source, clock, clock.monotonic() + COUNT_MS);
  return found.whole ? jobs(found.count) : `at least ${jobs(found.count)}`;
}

async function askForm(
  services: Services,
  c: Context<WebEnv>,
  { one, all }: typeof stop,
  workerId: string | undefined,
): Promise<Response> {
  const question = one === stop.one && await askFirst(services, c, {
    question: workerId === undefined ? "Stop all workers?" : `Stop worker ${workerId}?`,
    explanation:
      "A worker finishes its running jobs within its shutdown timeout, then exits. The rest is queued again.",
    label: workerId === undefined ? "Stop all workers" : "Stop the worker",
  });
  if (question) return question;
  const visitor = c.get("visitor");
  const { asked, unreachable = [] }: { asked: number; unreachable?: readonly string[] } = workerId === undefined
    ? await actFor(services, visitor, all, {})
    : await actFor(services, visitor, one, { id: workerId });
  const whom = workerId ?? `${asked} ${asked === 1 ? "worker" : "workers"}`;
  return await back(services, c, { kind: "ok", text: [`Sent ${one.name} to ${whom}.`, ...unreachable].join(" ") });
}
