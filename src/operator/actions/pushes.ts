/**
 * Actions that push: one job, many, or a changed copy of one.
 *
 * @module
 */
import { BatchError } from "../../client/batch_errors.ts";
import type { Client, PushResult } from "../../client/client.ts";
import { UsedId } from "../../client/unique.ts";
import { isInternalClass } from "../../job/internal_class.ts";
import { JidMaker } from "../../job/jid.ts";
import { parsePayload } from "../../job/job.ts";
import { stringifyLossless } from "../../job/json.ts";
import { jobOption, optionNames } from "../../job/option_names.ts";
import { type JobRequest, LINK_FIELDS } from "../../job/payload.ts";
import { fieldProblem, flatPush } from "../../job/push_fields.ts";
import { BEGUN_FIELD } from "../../job/time.ts";
import { WEBHOOK_QUEUE } from "../../job/webhook.ts";
import { placeName } from "../../store/ops/job_sets.ts";
import { pushJson } from "../../text/pushes.ts";
import { InvalidInput, list, named, object, oneOf, optional } from "../shapes/shape.ts";
import { any, boolean, number, parsed, text } from "../shapes/values.ts";
import { action, type AnyAction, type ClientTools, Refused, type Tools } from "./action.ts";
import { documented } from "./inputs.ts";
import { readFinished } from "../query/jobs.ts";
import { findEntries } from "./job_ids.ts";
import { checkEntries, checkQueueScope } from "./scope.ts";
import { WARNINGS, warningsOf } from "./warnings.ts";

/** The most jobs in a list. */
export const MAX_JOBS = 10_000;

/** A job to push. The client checks its options, and names all problems together. */
export const jobShape = named(
  "Push",
  object("A job to push, with the options of docs/reference/job-options.md.", {
    class: text(""),
    args: optional(list("", any(""))),
    ...Object.fromEntries(optionNames("push").map((name) => [name, optionShape(name)])),
    fields: optional(any("an object with your fields, which are copied into the payload")),
  }),
);

function optionShape(name: string) {
  const { about, kind: { schema, expected } } = jobOption(name)!;
  return optional(
    parsed(`${about}. Expected: ${expected}`, { word: "any", expected, schema, parse: (value) => value }),
  );
}

/** Pushes a job, or many. In a list, a rejected job doesn't affect the others: its result has the reason. */
export const pushJobs = action({
  name: "push",
  about: "Pushes a job, or a list of up to 10,000 jobs",
  path: "/jobs",
  key: "key",
  access: "push",
  isFrequent: true,
  takes: documented<JobRequest | readonly unknown[]>(
    oneOf("", jobShape, {
      ...list("", jobShape),
      schema: { type: "array", items: jobShape.schema, maxItems: MAX_JOBS },
    }),
    "value",
  ),
  gives: object("", {
    jid: optional(text("")),
    existed: optional(boolean(
      "an earlier push with the same Idempotency-Key, id or jid stored the job; a key or id that was used " +
        "with another class, queue or arguments is refused with 409",
    )),
    replaced: optional(
      boolean("the job replaced one that waited for the same unique or debounce key, and has its jid"),
    ),
    results: optional(list(
      "for a list: the result of each job, in order",
      object("", {
        jid: optional(text("")),
        existed: optional(boolean("")),
        replaced: optional(boolean("")),
        refused: optional(text("the reason")),
        duplicateOf: optional(text("the job that holds the unique lock")),
        throttledBy: optional(text("the job whose place is free next")),
        retryInMs: optional(number("")),
      }),
    )),
    warnings: WARNINGS,
  }),
  within: () => "pushes",
  status: ({ existed, results }) =>
    existed || results?.every((one) => one.jid === undefined || one.existed) ? 200 : 201,
  deed: ({ document }, out) => {
    if (out?.existed) return undefined;
    if (out?.results) return { count: out.results.filter(({ jid }) => jid !== undefined).length };
    return { ...(out && { target: out.jid!, count: 1 }), details: String((document as JobRequest).class) };
  },
  run: async (tools: ClientTools, { document, key }) => {
    const { client, bounds } = tools;
    const within = await bounds?.(Array.isArray(document) ? document : [document]) ?? ((request) => request);
    if (!Array.isArray(document)) {
      const request = within(requestOf(document, key));
      const { kind, jid } = await store(client, request);
      const warnings = warningsOf(client, kind === "existed" ? [] : [request.class]);
      return { jid, ...((kind === "existed" || kind === "replaced") && { [kind]: true }), ...warnings };
    }
    const results = await pushList(client, document, (one, i) => within(requestOf(one, key && `${key}/${i}`)));
    const stored = document.filter((_, i) => results[i]!.jid !== undefined && results[i]!.kind !== "existed");
    return { results: results.map(pushJson), ...warningsOf(client, stored.map((job: JobRequest) => job.class)) };
  },
});

async function store(client: Client, request: JobRequest): Promise<PushResult & { readonly jid: string }> {
  const result = await client.tryPush(request).catch((cause) => {
    if (cause instanceof UsedId) {
      throw new Refused("conflict", `Job not stored: ${cause.message}`, { field: cause.field, cause });
    }
    if (cause instanceof BatchError) throw new Refused("conflict", cause.message, { field: "batch", cause });
    throw cause;
  });
  if (result.refused !== undefined) throw new Refused("conflict", `Job not stored: ${result.refused}`);
  return result;
}

async function pushList(
  client: Client,
  jobs: readonly unknown[],
  read: (one: unknown, i: number) => JobRequest,
): Promise<PushResult[]> {
  const results: PushResult[] = [];
  const requests: JobRequest[] = [];
  const places: number[] = [];
  for (const [i, one] of jobs.entries()) {
    try {
      requests.push(read(one, i));
      places.push(i);
    } catch (error) {
      if (!(error instanceof InvalidInput || error instanceof Refused)) throw error;
      results[i] = { kind: "refused", refused: error.message };
    }
  }
  let n = 0;
  for await (const result of client.pushMany(requests)) results[places[n++]!] = result;
  return results;
}

/**
 * Checks the fields of a push.
 *
 * @param id identifies the push unless it has an `id`
 * @throws {InvalidInput} if it has an unknown field
 */
function requestOf(body: unknown, id: string | undefined): JobRequest {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return body as JobRequest;
  const problem = fieldProblem(body as Record<string, unknown>);
  if (problem !== undefined) throw new InvalidInput(problem.message, problem.field);
  return {
    args: [],
    ...(id !== undefined && { id }),
    ...flatPush(body as Record<string, unknown>),
  } as unknown as JobRequest;
}

/**
 * Fields that are not copied to a new job with the same content: the history of the old one, its cron run, and the trace of
 * its push.
 */
const HISTORY_FIELDS = [
  "jid",
  "id",
  "at",
  "created_at",
  "enqueued_at",
  "failed_at",
  "retried_at",
  "retry_count",
  "error_class",
  "error_message",
  "error_causes",
  "error_backtrace",
  "error_output",
  "died_by",
  "errors",
  "rescues",
  "suspected",
  BEGUN_FIELD,
  "no_handler_since",
  "unique_key",
  "debounce_key",
  "discarded_at",
  "occurrence",
  "traceparent",
  "tracestate",
  "baggage",
];

/**
 * Pushes a copy of a job, changed or not, then deletes the original, unless it is running or has ended. If the process dies in
 * between, both jobs exist. The copy of an ended job leaves its batch or flow as it is.
 */
export const pushAgain = action({
  name: "push again",
  about:
    "Pushes a copy of a job, also with other arguments, class or queue, and deletes the original; one that has ended stays finished",
  path: "/jobs/{jid}/push-again",
  takes: object("", {
    jid: text(""),
    ref: optional(text("the ref of the entry, which spares a search")),
    class: optional(text("")),
    args: optional(any("a list; default: those of the original")),
    queue: optional(text("")),
    id: optional(text("identifies the push: repeated, it stores one job")),
  }),
  gives: object("", { jid: text(""), warnings: WARNINGS }),
  status: () => 201,
  deletes: () => true,
  within: () => "jobs",
  deed: ({ jid }, out) => out === undefined ? { target: jid } : { target: out.jid, count: 1 },
  run: async (tools: ClientTools, { jid, ref, ...changed }, _steps, note) => {
    const { client, store: { admin, jobs }, mask, scope } = tools;
    const [original] = await findEntries({ admin, jobs }, jid, ref);
    const before = original === undefined ? await endedPayload(tools, jid) : parsePayload(original.payload)?.payload;
    if (original !== undefined) checkEntries(scope, [original]);
    if (changed.queue !== undefined) checkQueueScope(scope, changed.queue, "queue");
    const rest = Object.fromEntries(Object.entries(before ?? {}).filter(([field]) => !HISTORY_FIELDS.includes(field)));
    const args = changed.args === undefined ? before?.args : mask?.restore(changed.args, before?.args) ?? changed.args;
    // Without arguments, the client would push none. Those of an unreadable original are unknown.
    const copy = { class: "", queue: "default", ...rest, ...changed, args: args ?? null } as JobRequest;
    const request = { ...copy, ...await namedBy(tools, copy) };
    const isKept = original === undefined || original.place.in === "running";
    const from = `${before?.jid || "(unreadable)"} ${original ? `in ${placeName(original.place)}` : "that has ended"}`;
    note({ details: `${request.class}, ${isKept ? "copy of" : "in place of"} job ${from}` });
    const pushed = isInternalClass(before?.class) && isUnchanged(request, before!)
      ? await deliverAgain(tools, request)
      : await store(client, request);
    if (!isKept) await jobs.edit([original.ref], "delete");
    return { jid: pushed.jid, ...warningsOf(client, [request.class]) };
  },
});

/** Whether a copy has the class and the arguments of its original. */
function isUnchanged(copy: JobRequest, original: Readonly<Record<string, unknown>>): boolean {
  return copy.class === original["class"] && stringifyLossless(copy.args) === stringifyLossless(original["args"]);
}

/** Stores a copy of a delivery to a webhook: the same event. No client pushes any. */
async function deliverAgain(
  { store, clock }: Tools,
  { id: _, ...copy }: JobRequest,
): Promise<{ readonly jid: string }> {
  const now = clock.now();
  const jid = new JidMaker().next(now);
  const queue = copy.queue ?? WEBHOOK_QUEUE;
  const payload = stringifyLossless({ ...copy, jid, queue, created_at: now / 1_000 })!;
  await store.jobs.enqueue([{ jid, queue, payload }]);
  return { jid };
}

/** Returns the `id` of a copy as its author may name it. The other fields are those of the original, in its queue. */
async function namedBy(
  { bounds }: Pick<ClientTools, "bounds">,
  { class: name, queue = "default", id }: JobRequest,
): Promise<Pick<JobRequest, "id">> {
  if (id === undefined) return {};
  const named = { class: name, args: [], queue, id };
  return { id: (await bounds?.([named]))?.(named)["id"] ?? id };
}

/**
 * Returns the payload of an ended job from its record, without its batch and its end.
 *
 * @throws {Refused} if no record has it, or if its queue is outside of the author's scope
 */
async function endedPayload(
  { store, scope }: Pick<ClientTools, "store" | "scope">,
  jid: string,
): Promise<Readonly<Record<string, unknown>>> {
  const shown = jid.slice(0, 80);
  const [record] = (await store.results.read({ jids: [jid] })).records;
  const ended = record === undefined ? undefined : readFinished(record)?.job;
  if (ended === undefined) throw new Refused("missing", `Job "${shown}" not found`);
  if (ended.payload === undefined) {
    throw new Refused("conflict", `The record of job "${shown}" doesn't have its arguments: push it as a new job`);
  }
  checkQueueScope(scope, String(ended.payload["queue"] ?? ended.queue));
  return Object.fromEntries(
    Object.entries({ queue: ended.queue, ...ended.payload, jid }).filter(([field]) =>
      field !== "batch" && !LINK_FIELDS.has(field)
    ),
  );
}

/** The actions of this file. */
export const pushActions: readonly AnyAction[] = [pushJobs, pushAgain];
