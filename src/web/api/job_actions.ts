/**
 * The API's routes that act on jobs.
 *
 * @module
 */
import type { Context } from "hono";
import type { Place } from "../../store/port/entries.ts";
import { actOnJobs } from "../actions/jobs.ts";
import { cancelRunning } from "../actions/workers.ts";
import { HttpError } from "../http/body.ts";
import { FILTERS, parseFilter } from "../read/filter.ts";
import { findEntries } from "../read/job.ts";
import { type JobAction, parsePlace } from "../read/job_sets.ts";
import { text } from "../read/job_view.ts";
import type { Services, WebEnv } from "../services.ts";
import { allowFields, objectOf, REF_SCHEMA, textIn } from "./json.ts";
import type { ApiAnswer, ApiRoute } from "./route.ts";

const CHANGED = {
  type: "object",
  properties: {
    changed: { type: "integer", description: "absent with status 202: the action continues, see /operations" },
  },
};
/** Cancelling one job has a separate route: the job may be running. */
const ACTIONS_ON_ONE = ["retry", "kill", "delete", "move"] as const;
const ACTIONS = [...ACTIONS_ON_ONE, "cancel"] as const;

/** The routes. */
export const jobActionRoutes: readonly ApiRoute[] = [
  ...ACTIONS_ON_ONE.map((action): ApiRoute => ({
    method: "POST",
    path: `/jobs/{jid}/${action}`,
    access: "act",
    about: {
      retry: "Retries a job now: moves it to its queue",
      kill: "Moves a job to dead",
      delete: "Deletes a job permanently",
      move: "Moves a job to another queue",
    }[action],
    body: action === "move"
      ? { type: "object", required: ["queue"], properties: { ...REF_SCHEMA, queue: { type: "string" } } }
      : { type: "object", properties: REF_SCHEMA },
    answer: CHANGED,
    run: (c, services) => actOnOne(c, services, action),
  })),
  {
    method: "POST",
    path: "/jobs/{jid}/cancel",
    access: "act",
    about:
      "Cancels a job: aborts a running one, removes a waiting one; its result says cancelled, and it isn't retried",
    body: { type: "object", properties: REF_SCHEMA },
    answer: {
      type: "object",
      properties: {
        asked: { type: "integer", description: "of a running job: workers that received the request to abort it" },
        changed: { type: "integer", description: "of a waiting job: jobs removed" },
      },
    },
    run: cancel,
  },
  {
    method: "POST",
    path: "/actions",
    access: "act",
    about: "Acts on many jobs: those named by ref, or all in a place that match the filters",
    body: {
      type: "object",
      required: ["action"],
      properties: {
        action: { enum: ACTIONS },
        queue: { type: "string", description: "the target of move" },
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

async function actOnOne(c: Context<WebEnv>, services: Services, action: JobAction): Promise<ApiAnswer> {
  const body = await objectOf(c, services);
  allowFields(body, action === "move" ? ["ref", "queue"] : ["ref"]);
  const jid = c.req.param("jid") ?? "";
  const entries = (await findEntries(services, jid, textIn(body, "ref"))).filter((entry) =>
    entry.place.in !== "running"
  );
  if (entries.length === 0) throw new HttpError(404, `No job "${jid.slice(0, 80)}" that isn't running`);
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
    const why = found.length > 0 ? "is dead: expected a running or waiting job; delete it instead" : "not found";
    throw new HttpError(404, `Job "${jid.slice(0, 80)}" ${why}`);
  }
  const running = living.flatMap(({ worker }) => worker ?? []);
  for (const worker of running) await cancelRunning(services, c.get("visitor"), jid, worker);
  const refs = living.filter(({ worker }) => worker === undefined).map(({ ref }) => ref);
  if (refs.length === 0) return { value: { asked: running.length } };
  const { changed } = await actOnJobs(services, c.get("visitor"), "cancel", { refs });
  return { value: { ...(running.length > 0 && { asked: running.length }), changed } };
}

async function actOnMany(c: Context<WebEnv>, services: Services): Promise<ApiAnswer> {
  const body = await objectOf(c, services);
  allowFields(body, ["action", "refs", "all", "queue"]);
  const action = ACTIONS.find((one) => one === body.action);
  if (action === undefined) {
    throw new HttpError(
      422,
      `Unknown action "${text(body.action).slice(0, 40)}"; expected ${ACTIONS.join(", ")}`,
      "action",
    );
  }
  const result = await actOnJobs(services, c.get("visitor"), action, selectionOf(body), textIn(body, "queue"));
  return { value: result, status: result.changed === undefined ? 202 : 200 };
}

function selectionOf({ refs, all }: Readonly<Record<string, unknown>>) {
  if (Array.isArray(refs) && refs.every((ref) => typeof ref === "string")) return { refs };
  if (typeof all !== "object" || all === null) {
    throw new HttpError(422, 'No jobs selected: expected "refs", or "all" with "in"');
  }
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(all)) {
    if (name !== "in" && !Object.hasOwn(FILTERS, name)) {
      throw new HttpError(422, `Unknown filter "${name.slice(0, 40)}"`, `all.${name.slice(0, 40)}`);
    }
    // Left out, an empty one would select all: it may be a variable that is unset.
    if (typeof value !== "string" || value.trim() === "") {
      throw new HttpError(422, `Invalid filter "${name}": expected a text that isn't empty`, `all.${name}`);
    }
    params.set(name, value);
  }
  const place: Place = parsePlace(params.get("in") ?? "");
  return { place, filter: parseFilter(params) };
}
