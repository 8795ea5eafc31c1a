/**
 * Actions on batches and flows: open, close, cancel, retry the dead, check, push a flow.
 *
 * @module
 */
import { cancelRefusal, retryRefusal } from "../../client/batch_errors.ts";
import { type BatchOptions, parseBatchOptions } from "../../client/batch_options.ts";
import { parseFlow } from "../../client/flow_text.ts";
import { UsedId } from "../../client/unique.ts";
import { BATCH_EVENTS } from "../../job/batch.ts";
import type { JobRequest } from "../../job/payload.ts";
import { requireZone } from "../../job/time.ts";
import type { Store } from "../../store/admin/store.ts";
import { checkBatch } from "../../store/ops/batch_check.ts";
import { cancelMembers, retryMembers } from "../../store/ops/batches.ts";
import type { Batch } from "../../store/port/batches.ts";
import { map, object, optional } from "../shapes/shape.ts";
import { any, boolean, choice, integer, span, text } from "../shapes/values.ts";
import { action, type AnyAction, type ClientTools, Refused, type Tools } from "./action.ts";
import { changedShape, documented } from "./inputs.ts";
import { WARNINGS, warningsOf } from "./warnings.ts";

/** `batch`, or `flow`. */
export type BatchKind = "batch" | "flow";

const ID = object("", { id: text("") });
/** Fields of a batch, and of a flow. */
const CALLBACKS = {
  tags: optional(any("a list of texts")),
  success: optional(any("a job to push when every job has succeeded")),
  complete: optional(any("a job to push when every job has ended or is dead")),
  death: optional(any("a job to push when the first job has failed for good")),
  keepFor: optional(span("how long it is kept after its end; default 7d")),
  parent: optional(text("ID of the batch that counts it as a member")),
};

/**
 * Returns a batch or a flow.
 *
 * @throws {Refused} if there is none with this ID
 */
export async function findBatch(
  { store }: { readonly store: Pick<Store, "batches"> },
  kind: BatchKind,
  id: string,
): Promise<Batch> {
  const [batch] = (await store.batches.read({ ids: [id] })).batches;
  if (batch !== undefined && (batch.flow ?? false) === (kind === "flow")) return batch;
  const name = kind === "flow" ? "Flow" : "Batch";
  const why = batch !== undefined
    ? `it is a ${kind === "flow" ? "batch" : "flow"}`
    : "it doesn't exist, or its retention has expired";
  throw new Refused("missing", `${name} "${id.slice(0, 80)}" not found: ${why}`);
}

/** @throws {Refused} if the author may push some jobs alone: callbacks may be of other classes and queues */
function checkUnlimited({ scope }: Tools): void {
  if (scope?.classes === undefined && scope?.queues === undefined) return;
  throw new Refused(
    "forbidden",
    "A token that is limited to classes or queues has no batches: expected one without limits",
  );
}

/** Opens a batch. */
export const openBatch = action({
  name: "batch open",
  about: "Opens a batch. POST /jobs adds jobs with its ID as batch",
  path: "/batches",
  key: "key",
  access: "push",
  isFrequent: true,
  takes: documented(object("", {
    name: optional(text("")),
    ...CALLBACKS,
    abandoned: optional(any("a job to push when the batch wasn't closed in time")),
    closeWithin: optional(span("an open batch is abandoned without new jobs for this long; default 1d")),
  })),
  gives: object("", {
    id: text(""),
    existed: optional(boolean("an earlier request with the same Idempotency-Key opened the batch")),
    warnings: WARNINGS,
  }),
  status: ({ existed }) => existed ? 200 : 201,
  deed: (_, out) => out && !out.existed ? { target: `batch:${out.id}` } : undefined,
  run: async (tools: ClientTools, { document, key }) => {
    checkUnlimited(tools);
    const { client } = tools;
    const options = parseBatchOptions(document);
    await checkPushes(tools, callbacksOf(options));
    const opening = key === undefined ? client.batches.open(options) : client.batches.openOnce(options, key, document);
    const { id, existed = false } = await (opening as Promise<{ readonly id: string; readonly existed?: boolean }>)
      .catch((cause) => {
        if (!(cause instanceof UsedId)) throw cause;
        throw new Refused("conflict", `Batch not opened: ${cause.message}`, { field: cause.field, cause });
      });
    return { id, ...(existed ? { existed } : warningsOf(client, classesOf(callbacksOf(options)))) };
  },
});

/** Returns the callbacks: as JSON has them, with classes by name. */
function callbacksOf(options: BatchOptions): JobRequest[] {
  return BATCH_EVENTS.flatMap((event) => options[event] === undefined ? [] : [options[event] as JobRequest]);
}

/** Checks jobs that are pushed with a batch or a flow, or by its end. @throws {Refused} if one is outside of the author's bounds */
async function checkPushes({ bounds }: Pick<ClientTools, "bounds">, jobs: readonly JobRequest[]): Promise<void> {
  const within = await bounds?.(jobs);
  if (within !== undefined) { for (const job of jobs) within(job); }
}

function classesOf(jobs: readonly JobRequest[]): string[] {
  return jobs.map((job) => job.class);
}

/** Closes a batch; closing it again changes nothing. */
export const closeBatch = action({
  name: "batch close",
  about: "Closes a batch: its callbacks follow when its jobs have ended",
  path: "/batches/{id}/close",
  access: "push",
  isFrequent: true,
  takes: object("", {
    id: text(""),
    abandon: optional(
      boolean("true: abandons it, because not all of its jobs could be added. Its callback `abandoned` follows"),
    ),
  }),
  gives: object("", { closed: boolean(""), alreadyClosed: optional(boolean("it was closed before")) }),
  deed: ({ id, abandon }) => ({ target: `batch:${id}`, ...(abandon && { details: "abandoned" }) }),
  run: async (tools, { id, abandon = false }) => {
    checkUnlimited(tools);
    await findBatch(tools, "batch", id);
    const as = abandon ? "abandoned" : "closed";
    const { done = false, closedAs } = await tools.store.batches.close(id, as) ?? {};
    if (closedAs !== as) {
      throw new Refused("conflict", `Can't ${abandon ? "abandon" : "close"} batch "${id}": it was ${closedAs}`);
    }
    return { closed: true, ...(!done && { alreadyClosed: true }) };
  },
});

function cancelling(kind: BatchKind, plural: string) {
  return action({
    name: `${kind} cancel`,
    about: `Cancels a ${kind} and its jobs`,
    path: `/${plural}/{id}/cancel`,
    label: ({ id }) => `${kind} cancel ${id}`,
    takes: ID,
    gives: object("", {
      ...changedShape.fields,
      alreadyCancelled: optional(boolean("an earlier call has cancelled it; changed is what that one left")),
    }),
    deletes: () => true,
    deed: ({ id }) => ({ target: `${kind}:${id}` }),
    run: async (tools, { id }, runSteps) => {
      const { store, clock } = tools;
      const { pending } = await findBatch(tools, kind, id);
      const closed = await store.batches.close(id, "cancelled") ??
        { done: false, closedAs: "closed" as const };
      const refusal = cancelRefusal(kind, { id, ...closed });
      if (refusal !== undefined) throw new Refused("conflict", refusal);
      const answer = closed.done ? {} : { alreadyCancelled: true };
      const steps = cancelMembers(store, id, closed, () => clock.now());
      return { changed: await runSteps({ total: pending, steps, answer }), ...answer };
    },
  });
}

/** Cancels a batch, or continues an interrupted cancel. */
export const cancelBatch = cancelling("batch", "batches");
/** Cancels a flow. */
export const cancelFlow = cancelling("flow", "flows");

function retrying(kind: BatchKind, plural: string) {
  return action({
    name: `${kind} retry`,
    about: `Enqueues the dead jobs of a ${kind} again`,
    path: `/${plural}/{id}/retry`,
    label: ({ id }) => `${kind} retry ${id}`,
    takes: ID,
    gives: changedShape,
    deed: ({ id }) => ({ target: `${kind}:${id}` }),
    run: async (tools, { id }, runSteps) => {
      const batch = await findBatch(tools, kind, id);
      const refusal = retryRefusal(kind, batch);
      if (refusal !== undefined) throw new Refused("conflict", refusal);
      return { changed: await runSteps({ total: batch.dead, steps: retryMembers(tools.store, id) }) };
    },
  });
}

/** Requeues the dead jobs of a batch. */
export const retryBatch = retrying("batch", "batches");
/** Requeues the dead jobs of a flow. */
export const retryFlow = retrying("flow", "flows");

const COUNTS = { pending: integer(""), dead: integer("") };

/** Counts the members of a batch in the store, and corrects its counters. */
export const checkBatchCounts = action({
  name: "batch check",
  about: "Counts the members of a batch in the store, and corrects its counters if another program removed some",
  path: "/batches/{id}/check",
  takes: ID,
  gives: object("", {
    result: choice(["right", "corrected", "busy"], ""),
    ...COUNTS,
    before: object("the counters before", COUNTS),
  }),
  deed: ({ id }, out) => out === undefined || out.result === "corrected" ? { target: `batch:${id}` } : undefined,
  run: async (tools, { id }) => {
    await findBatch(tools, "batch", id);
    return (await checkBatch(tools.store, id))!;
  },
});

/** Pushes a flow. */
export const pushFlow = action({
  name: "flow push",
  about: "Pushes a flow: jobs that run after each other. Nothing is stored if any of it is invalid",
  path: "/flows",
  key: "key",
  isFrequent: true,
  takes: documented(object("", {
    name: text(""),
    nodes: any("by name: class, args, options of the job, after, onDead"),
    id: optional(text("as the header Idempotency-Key: a later push completes or returns the first flow")),
    within: optional(span("how long the id is remembered; default 1d")),
    ...CALLBACKS,
  })),
  gives: object("", {
    id: text(""),
    jids: map("", text("")),
    existed: optional(boolean(
      "an earlier push with the same Idempotency-Key or id stored the flow; a key or id that was used with another " +
        "name or other nodes is refused with 409",
    )),
    warnings: WARNINGS,
  }),
  status: ({ existed }) => existed ? 200 : 201,
  deed: (_, out) => out && !out.existed ? { target: `flow:${out.id}` } : undefined,
  run: async (tools: ClientTools, { document, key, ...more }) => {
    const { client, isRemote } = tools;
    const { name, nodes, options } = parseFlow(document);
    const jobs = Object.entries(nodes).map(([name, { job }]) => [name, job as JobRequest] as const);
    if (isRemote) { for (const [name, job] of jobs) requireZone(job.at, `nodes.${name}.at`); }
    const pushes = [...jobs.map(([, job]) => job), ...callbacksOf(options)];
    await checkPushes(tools, pushes);
    const pushed = client.flow(name, nodes, { ...(key !== undefined && { id: key }), ...options, ...more });
    const flow = await pushed.catch((cause) => {
      if (!(cause instanceof UsedId)) throw cause;
      throw new Refused("conflict", `Flow not stored: ${cause.message}`, { field: cause.field, cause });
    });
    if (flow.existed) return flow;
    return { ...flow, ...warningsOf(client, classesOf(pushes)) };
  },
});

/** The actions of this file. */
export const batchActions: readonly AnyAction[] = [
  cancelBatch,
  retryBatch,
  cancelFlow,
  retryFlow,
  openBatch,
  closeBatch,
  checkBatchCounts,
  pushFlow,
];
