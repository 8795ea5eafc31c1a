/**
 * The forms: each does one action, says what came of it on the next page, and asks first where it cannot be undone or
 * concerns everything.
 *
 * @module
 */
import type { Context, Hono } from "hono";
import { deleteCookie, setCookie } from "hono/cookie";
import { formatDuration, parseDuration } from "../../job/duration.ts";
import type { JobRequest } from "../../job/payload.ts";
import { actOnJobs, pushAgain, pushJob, setLimit, setPaused } from "../actions/jobs.ts";
import { HttpError } from "../http/body.ts";
import type { Services, WebEnv } from "../services.ts";
import { describeFilter, type Filter, isEmpty, parseFilter } from "../read/filter.ts";
import { formOf, parseArgs } from "../http/forms.ts";
import { knownClasses } from "../read/job.ts";
import { cookieOptions, logOut } from "../auth/login.tsx";
import { checkQueue, type JobAction, parsePlace, placePath } from "../read/job_sets.ts";
import { askWorker, cancelRunning, dumpWorker, type WorkerVerb } from "../actions/workers.ts";
import type { Place } from "../../store/admin/admin.ts";
import { placeName, sizeOf } from "../../store/ops/job_sets.ts";
import { ALL_QUEUES } from "../../store/port/paused_queues.ts";
import { number } from "../../text/format.ts";
import { limitText } from "../../text/limits.ts";
import { localPath } from "../read/paging.ts";
import { countMatching } from "../read/scan.ts";
import { jobs } from "./view.tsx";
import { PushPage } from "./job.tsx";
import { ConfirmPage } from "./misc.tsx";
import { DumpPage } from "./workers.tsx";
import { back, html, THEME_COOKIE, viewOf } from "./responses.tsx";

const DONE: Readonly<Record<JobAction, string>> = {
  retry: "put into their queues",
  kill: "moved to dead",
  cancel: "cancelled",
  delete: "deleted",
  move: "moved",
};
const VERBS: Readonly<Record<JobAction, string>> = {
  retry: "Retry",
  kill: "Kill",
  cancel: "Cancel",
  delete: "Delete",
  move: "Move",
};
/** Counting for a confirmation takes no longer. */
const COUNT_MS = 1_000;

/** The forms. */
export function formRoutes(app: Hono<WebEnv>, services: Services): void {
  app.post("/jobs/act", (c) => actOnJobsForm(services, c));
  app.post("/jobs/cancel", async (c) => {
    const form = await formOf(c, services);
    const jid = form.get("jid") ?? "";
    await cancelRunning(services, c.get("visitor"), jid, form.get("process") ?? "");
    return await back(services, c, { kind: "ok", text: `Asked for the end of ${jid}.` });
  });

  app.post("/push", (c) => pushForm(services, c));
  app.post("/jobs/:jid/edit", (c) => pushForm(services, c));

  for (const verb of ["pause", "resume"] as const) {
    app.post(`/queues/${verb}`, async (c) => {
      await setPaused(services, c.get("visitor"), ALL_QUEUES, verb === "pause");
      const text = verb === "pause" ? "All queues are paused: nothing is taken." : "Queues are taken from again.";
      return await back(services, c, { kind: "ok", text });
    });
    app.post(`/queues/:name/${verb}`, async (c) => {
      const name = checkQueue(c.req.param("name"));
      await setPaused(services, c.get("visitor"), name, verb === "pause");
      return await back(services, c, {
        kind: "ok",
        text: `Queue ${name} is ${verb === "pause" ? "paused" : "taken from again"}.`,
      });
    });
  }

  app.post("/queues/:name/limit", async (c) => {
    const name = checkQueue(c.req.param("name"));
    const form = await formOf(c, services);
    const limit = await setLimit(services, c.get("visitor"), name, {
      running: form.get("running") ?? "",
      starts: form.get("starts") ?? "",
    });
    const text = `Queue ${name} is ${limitText(limit) ? `limited: ${limitText(limit)}` : "not limited"}.`;
    return await back(services, c, { kind: "ok", text });
  });

  for (const verb of ["quiet", "resume", "stop"] as const) {
    app.post(`/processes/${verb}`, (c) => askForm(services, c, verb, undefined));
    app.post(`/processes/:identity/${verb}`, (c) => askForm(services, c, verb, c.req.param("identity")));
  }
  app.post("/processes/:identity/dump", async (c) => {
    const identity = c.req.param("identity");
    const dump = await dumpWorker(services, c.get("visitor"), identity);
    return html(services, c, <DumpPage view={await viewOf(services, c)} identity={identity} dump={dump} />);
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

async function actOnJobsForm(services: Services, c: Context<WebEnv>): Promise<Response> {
  const form = await formOf(c, services);
  const [action, scope] = parseDo(form.get("do") ?? "");
  const place = parsePlace(form.get("in") ?? "");
  const filter = parseFilter(form);
  const refs = form.getAll("ref");
  const queue = form.get("queue_to")?.trim() ?? "";
  if (action === "move") checkQueue(queue);
  if (scope === "ticked" && refs.length === 0) {
    return await back(services, c, { kind: "bad", text: "Nothing is ticked." });
  }
  if (form.get("confirmed") !== "yes" && (scope === "all" || isForGood(action))) {
    const question = scope === "all"
      ? await questionForAll(services, action, place, filter, queue)
      : `${VERBS[action]} ${jobs(refs.length)}${isForGood(action) ? " for good" : ""}?`;
    const fields = {
      ...filter,
      in: placeName(place),
      do: `${action}:${scope}`,
      queue_to: queue || undefined,
      back: localPath(form.get("back") ?? undefined),
    };
    return html(
      services,
      c,
      <ConfirmPage
        view={await viewOf(services, c)}
        question={question}
        label={`Yes, ${action}`}
        action="/jobs/act"
        fields={fields}
        refs={scope === "all" ? [] : refs}
      />,
    );
  }
  const selection = scope === "all" ? { place, filter } : { refs };
  const { changed } = await actOnJobs(services, c.get("visitor"), action, selection, queue);
  if (changed === undefined) {
    return await back(services, c, { kind: "ok", text: "That takes a while; it goes on by itself." });
  }
  const missed = scope === "ticked" ? refs.length - changed : 0;
  const why = action === "cancel" ? "had moved on meanwhile, or cannot be read" : "had moved on meanwhile";
  const text = `${jobs(changed)} ${DONE[action]}.` + (missed > 0 ? ` ${jobs(missed)} ${why}.` : "");
  const gone = localPath(form.get("back") ?? undefined).startsWith("/jobs/");
  return await back(services, c, { kind: missed > 0 ? "bad" : "ok", text }, gone ? placePath(place) : undefined);
}

function parseDo(text: string): [JobAction, "ticked" | "all"] {
  const match = /^(retry|kill|cancel|delete|move):(ticked|all)$/.exec(text);
  if (match === null) throw new HttpError(400, `No action "${text.slice(0, 40)}"`);
  return [match[1] as JobAction, match[2] as "ticked" | "all"];
}

/** Whether it cannot be undone. */
function isForGood(action: JobAction): boolean {
  return action === "delete" || action === "cancel";
}

async function questionForAll(
  services: Services,
  action: JobAction,
  place: Place,
  filter: Filter,
  queue: string,
): Promise<string> {
  const verb = action === "retry" && place.in === "scheduled" ? "Run" : VERBS[action];
  const to = action === "move" ? ` to queue ${queue}` : "";
  const tail = isForGood(action) ? " for good" : place.in === "scheduled" && action === "retry" ? " now" : "";
  if (isEmpty(filter)) {
    const size = sizeOf(place, await services.store.stats());
    return `${verb} all ${jobs(size)} in ${placeName(place)}${to}${tail}?`;
  }
  const { count, whole } = await countMatching(services, { place, filter, budgetMs: COUNT_MS });
  const many = whole ? jobs(count) : `${number(count)} and more jobs`;
  return `${verb} ${many} in ${placeName(place)} with ${describeFilter(filter)}${to}${tail}?`;
}

async function pushForm(services: Services, c: Context<WebEnv>): Promise<Response> {
  const form = await formOf(c, services);
  const field = (name: string) => (form.get(name) ?? "").trim();
  const ref = form.get("ref");
  const original = ref === null ? undefined : await services.store.get(ref);
  if (ref !== null && original === undefined) throw new HttpError(404, "This job has moved on meanwhile");
  try {
    const request = {
      class: field("class"),
      args: parseArgs(field("args")),
      queue: field("queue") || "default",
    };
    const jid = original ? await pushAgain(services, c.get("visitor"), original, request) : await pushJob(
      services,
      c.get("visitor"),
      { ...request, ...whenOf(field("when")), ...retryOf(field("retry")) } as JobRequest,
    );
    return await back(
      services,
      c,
      { kind: "ok", text: `Pushed as ${jid}.` },
      original ? placePath(original.place) : `/jobs/${jid}`,
    );
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    const filled = {
      class: field("class"),
      args: field("args"),
      queue: field("queue"),
      when: field("when"),
      retry: field("retry"),
    };
    const shown = original && { jid: c.req.param("jid") ?? "-", ref: original.ref };
    return html(
      services,
      c,
      <PushPage
        view={await viewOf(services, c)}
        form={filled}
        classes={await knownClasses(services)}
        original={shown}
        problem={error.message}
      />,
      422,
    );
  }
}

/** `in 5m`, `5m`, `at 2027-…`, or nothing for now. */
function whenOf(text: string): { in?: string; at?: string } {
  const when = text.replace(/^(in|at) /, "");
  if (when === "" || when === "now") return {};
  if (/^\d{4}-/.test(when)) return { at: when };
  try {
    return { in: formatDuration(parseDuration(when)) && when };
  } catch (error) {
    throw new HttpError(422, (error as Error).message);
  }
}

function retryOf(text: string): { retry?: boolean | number } {
  if (text === "") return {};
  if (text === "true" || text === "false") return { retry: text === "true" };
  if (/^\d{1,6}$/.test(text)) return { retry: Number(text) };
  throw new HttpError(422, `Retries are "${text}"; wanted: a number of times, true or false`);
}

async function askForm(
  services: Services,
  c: Context<WebEnv>,
  verb: WorkerVerb,
  identity: string | undefined,
): Promise<Response> {
  const form = await formOf(c, services);
  if (verb === "stop" && form.get("confirmed") !== "yes") {
    const fields = { back: localPath(form.get("back") ?? undefined) };
    const path = identity === undefined ? "/processes/stop" : `/processes/${encodeURIComponent(identity)}/stop`;
    const question = identity === undefined ? "Stop all processes?" : `Stop ${identity}?`;
    return html(
      services,
      c,
      <ConfirmPage
        view={await viewOf(services, c)}
        question={question}
        label="Yes, stop"
        action={path}
        fields={fields}
        refs={[]}
      />,
    );
  }
  const asked = await askWorker(services, c.get("visitor"), identity, verb);
  const whom = identity ?? `${asked} ${asked === 1 ? "process" : "processes"}`;
  return await back(services, c, { kind: "ok", text: `Asked ${whom} to ${verb === "quiet" ? "be quiet" : verb}.` });
}
