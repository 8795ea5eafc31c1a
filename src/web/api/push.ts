/**
 * The API's routes that push jobs.
 *
 * @module
 */
import type { Context } from "hono";
import type { PushResult } from "../../client/client.ts";
import { InvalidPayload } from "../../job/errors.ts";
import { meantOption, optionNames } from "../../job/option_names.ts";
import { type JobRequest, LINK_FIELDS } from "../../job/payload.ts";
import { requireZone } from "../../job/time.ts";
import { closestWord } from "../../job/suggest.ts";
import { pushAgain, pushJob, pushJobs } from "../push.ts";
import { warningsOf } from "../../operator/actions/warnings.ts";
import type { Visitor } from "../auth/gate.ts";
import { type ScopedToken, withinScope } from "../auth/push_scope.ts";
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
import { pushJson } from "../../text/pushes.ts";
import type { ApiAnswer, ApiRoute } from "./route.ts";

const PUSH = { $ref: "#/components/schemas/Push" };

/** The routes. */
export const pushRoutes: readonly ApiRoute[] = [
  {
    method: "POST",
    path: "/jobs",
    access: "push",
    about: "Pushes a job, or a list of up to 10,000 jobs",
    body: { oneOf: [PUSH, { type: "array", items: PUSH, maxItems: MAX_JOBS }] },
    answer: {
      type: "object",
      properties: {
        jid: { type: "string" },
        existed: {
          type: "boolean",
          description:
            "an earlier push with the same Idempotency-Key, id or jid stored the job; a key or id that was used " +
            "with another class, queue or arguments is refused with 409",
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
    access: "act",
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
  const token = await scopedToken(services, visitor);
  if (!Array.isArray(body)) {
    const request = requestOf(body, token, id);
    const { jid, existed, replaced } = await pushJob(services, visitor, request);
    return {
      value: {
        jid,
        ...(existed && { existed }),
        ...(replaced && { replaced }),
        ...warningsOf(services.client, existed ? [] : [request.class]),
      },
      status: existed ? 200 : 201,
    };
  }
  // A limited token can't evade its rate by lists.
  if (token !== undefined) services.tokens.spend(visitor.name, body.length - 1);
  const results = await pushList(services, visitor, body, (one, i) => requestOf(one, token, id && `${id}/${i}`));
  const stored = body.filter((_, i) => results[i]!.jid !== undefined && results[i]!.kind !== "existed") as JobRequest[];
  return {
    value: { results: results.map(pushJson), ...warningsOf(services.client, stored.map((job) => job.class)) },
    status: 201,
  };
}

/** Returns the bounds of a visitor's pushes; undefined without any. */
async function scopedToken(services: Services, { name, scope }: Visitor): Promise<ScopedToken | undefined> {
  if (scope === undefined) return undefined;
  const { classes, queues } = scope;
  return { name, scope, queues: queues === undefined ? await services.queues.of(classes ?? []) : new Set() };
}

/** Pushes a list. A rejected job doesn't affect the others: its result has the reason. */
async function pushList(
  services: Services,
  visitor: Visitor,
  list: readonly unknown[],
  read: (one: unknown, i: number) => JobRequest,
): Promise<PushResult[]> {
  const results: PushResult[] = [];
  const requests: JobRequest[] = [];
  const places: number[] = [];
  for (const [i, one] of list.entries()) {
    try {
      requests.push(read(one, i));
      places.push(i);
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      results[i] = { kind: "refused", refused: error.message };
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
 * @param token bounds the push
 * @param id identifies the push unless it has an `id`
 * @throws {HttpError} if it has an unknown field, or is outside of the token's scope
 */
function requestOf(body: unknown, token: ScopedToken | undefined, id: string | undefined): JobRequest {
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
    throw new HttpError(422, `"fields.${own}" is written by jobs alone: choose another name`, `fields.${own}`);
  }
  checkZone(known["at"]);
  const request = { args: [], ...fields, ...(id !== undefined && { id }), ...known } as unknown as JobRequest;
  return token === undefined ? request : withinScope(request, token);
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
  return { value: { jid: pushed, ...warningsOf(services.client, [changed.class]) }, status: 201 };
}
