/**
 * The API's routes that push jobs.
 *
 * @module
 */
import type { Context } from "hono";
import type { PushResult } from "../../client/client.ts";
import { performedClass } from "../../job/job.ts";
import { InvalidPayload } from "../../job/errors.ts";
import { meantOption, optionNames } from "../../job/option_names.ts";
import { type JobRequest, LINK_FIELDS } from "../../job/payload.ts";
import { requireZone } from "../../job/time.ts";
import { closestWord } from "../../text/suggest.ts";
import { pushAgain, pushJob, pushJobs } from "../actions/jobs.ts";
import { warningsOf } from "../actions/warnings.ts";
import type { PushScope } from "../auth/accounts.ts";
import type { Visitor } from "../auth/gate.ts";
import { HttpError } from "../http/body.ts";
import { findEntries } from "../read/job.ts";
import { text } from "../read/job_view.ts";
import type { Services, WebEnv } from "../services.ts";
import {
  allowFields,
  jobJson,
  MAX_JOBS,
  objectOf,
  objectOrListOf,
  REF_SCHEMA,
  textIn,
  WARNINGS_SCHEMA,
} from "./json.ts";
import type { ApiAnswer, ApiRoute } from "./routes.ts";

const PUSH = { $ref: "#/components/schemas/Push" };

/** The routes. */
export const pushRoutes: readonly ApiRoute[] = [
  {
    method: "POST",
    path: "/jobs",
    about: "Pushes a job, or a list of up to 10,000 jobs",
    body: { oneOf: [PUSH, { type: "array", items: PUSH, maxItems: MAX_JOBS }] },
    answer: {
      type: "object",
      properties: {
        jid: { type: "string" },
        existed: {
          type: "boolean",
          description: "an earlier push with the same Idempotency-Key, id or jid stored the job",
        },
        replaced: {
          type: "boolean",
          description: "the job replaced one that waited for the same unique or debounce key, and has its jid",
        },
        results: {
          type: "array",
          description: "for a list: the result of each job, in order",
          items: {
            type: "object",
            properties: { jid: { type: "string" }, refused: { type: "string" }, retryInMs: { type: "number" } },
          },
        },
        warnings: WARNINGS_SCHEMA,
      },
    },
    run: push,
  },
  {
    method: "POST",
    path: "/jobs/{jid}/push-again",
    about: "Pushes a copy of a job with other arguments, class or queue, and deletes the original",
    body: {
      type: "object",
      properties: {
        ...REF_SCHEMA,
        class: { type: "string" },
        args: { type: "array", items: {} },
        queue: { type: "string" },
      },
    },
    answer: { type: "object", properties: { jid: { type: "string" }, warnings: WARNINGS_SCHEMA } },
    run: again,
  },
];

async function push(c: Context<WebEnv>, services: Services): Promise<ApiAnswer> {
  const body = await objectOrListOf(c, services);
  const visitor = c.get("visitor");
  const id = c.req.header("idempotency-key");
  if (!Array.isArray(body)) {
    const request = requestOf(body as Record<string, unknown>, visitor.scope);
    const keyed = id === undefined ? request : { id, ...request };
    const { jid, existed, replaced } = await pushJob(services, visitor, keyed);
    return {
      value: {
        jid,
        ...(existed && { existed }),
        ...(replaced && { replaced }),
        ...warningsOf(services, existed ? [] : [request.class]),
      },
      status: existed ? 200 : 201,
    };
  }
  const results = await pushList(services, visitor, body, id);
  const stored = body.filter((_, i) => results[i]!.jid !== undefined && !results[i]!.existed) as JobRequest[];
  return { value: { results, ...warningsOf(services, stored.map((job) => job.class)) }, status: 201 };
}

/** Pushes a list. A rejected job doesn't affect the others: its result has the reason. */
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

/** The fields of a push. The program's fields go into `fields`. */
const PUSH_FIELDS = ["class", "args", ...optionNames("push"), "fields"];

/**
 * Checks the fields of a push.
 *
 * @throws {HttpError} if it has an unknown field, or is outside of the token's scope
 */
function requestOf(body: unknown, scope: PushScope | undefined): JobRequest {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return body as JobRequest;
  const { fields, ...known } = body as Record<string, unknown>;
  const other = Object.keys(known).find((name) => !PUSH_FIELDS.includes(name));
  if (other !== undefined) {
    const meant = meantOption(other, "push") ?? closestWord(other, PUSH_FIELDS);
    const hint = meant === undefined ? 'put your fields into "fields"' : `did you mean "${meant}"?`;
    throw new HttpError(422, `Unknown field "${other.slice(0, 80)}"; ${hint}`, other.slice(0, 80));
  }
  if (fields !== undefined && (typeof fields !== "object" || fields === null || Array.isArray(fields))) {
    throw new HttpError(422, `Invalid "fields": expected an object such as { "tenant": "acme" }`, "fields");
  }
  const taken = Object.keys(fields ?? {}).find((name) => PUSH_FIELDS.includes(name));
  if (taken !== undefined) {
    throw new HttpError(422, `"fields.${taken}" is an option: put it next to "class"`, `fields.${taken}`);
  }
  const own = Object.keys(fields ?? {}).find((name) => LINK_FIELDS.has(name));
  if (own !== undefined) {
    throw new HttpError(422, `"fields.${own}" links jobs, and only jobs sets it: choose another name`, `fields.${own}`);
  }
  const request = { args: [], ...fields, ...known } as unknown as JobRequest;
  checkZone(request.at);
  checkScope(request, scope);
  return request;
}

/** Rejects a time without a zone: the program may run in another zone than the server. */
function checkZone(at: unknown): void {
  try {
    requireZone(at);
  } catch (error) {
    if (error instanceof InvalidPayload) throw new HttpError(422, error.message, "at");
    throw error;
  }
}

/**
 * Checks a push against a token's scope. The class is the one that would be performed: `wrapped` can name another. The push
 * must name its queue: otherwise the class's options could choose another. A batch pushes its callbacks when its members
 * end, of any class and queue: a token for some queues must not cause or delay them.
 */
function checkScope(request: JobRequest, scope: PushScope | undefined): void {
  const { queue = "", retry_queue: retryQueue = queue, batch } = request;
  if (scope !== undefined && batch !== undefined) {
    const why = "its callbacks may be of other classes and queues";
    throw new HttpError(403, `A token that is limited to classes or queues can't add to a batch: ${why}`, "batch");
  }
  if (scope?.classes !== undefined && !scope.classes.includes(performedClass(request))) {
    throw new HttpError(403, `This token may push only ${scope.classes.join(", ")}`, "class");
  }
  if (scope?.queues !== undefined && !scope.queues.includes(queue)) {
    throw new HttpError(403, `This token may push only to ${scope.queues.join(", ")}: set "queue"`, "queue");
  }
  if (scope?.queues !== undefined && !scope.queues.includes(retryQueue)) {
    throw new HttpError(403, `This token may push only to ${scope.queues.join(", ")}`, "retry_queue");
  }
}

async function again(c: Context<WebEnv>, services: Services): Promise<ApiAnswer> {
  const body = await objectOf(c, services);
  allowFields(body, ["ref", "class", "args", "queue"]);
  const jid = c.req.param("jid") ?? "";
  const [entry] = await findEntries(services, jid, textIn(body, "ref"));
  if (entry === undefined) throw new HttpError(404, `Job "${jid.slice(0, 80)}" not found`);
  const before = jobJson(entry, services).payload as Record<string, unknown>;
  const changed = {
    class: textIn(body, "class") ?? text(before.class),
    args: body.args,
    queue: textIn(body, "queue") ?? (text(before.queue) || "default"),
  };
  const pushed = await pushAgain(services, c.get("visitor"), entry, changed);
  return { value: { jid: pushed, ...warningsOf(services, [changed.class]) }, status: 201 };
}
