/**
 * Actions on jobs, for pages and the API. Each action is one function. It validates its input, and records the
 * user, the number of jobs and the outcome in the audit log.
 *
 * @module
 */
import { BatchError } from "../../client/batch_errors.ts";
import type { PushResult } from "../../client/client.ts";
import { UsedId } from "../../client/unique.ts";
import { InvalidPayload } from "../../job/errors.ts";
import { parsePayload } from "../../job/job.ts";
import type { JobRequest } from "../../job/payload.ts";
import type { Edit, Entry, Place } from "../../store/port/entries.ts";
import { cancelEntries, cancelSteps } from "../../store/ops/cancel.ts";
import { changeAll, editSteps } from "../../store/ops/bulk_edit.ts";
import { placeName, readSize } from "../../store/ops/job_sets.ts";
import { fewOf, MAX_NAMES } from "../../text/format.ts";
import { recordAudit } from "../audit.ts";
import type { Visitor } from "../auth/gate.ts";
import { HttpError } from "../http/body.ts";
import type { Services } from "../services.ts";
import { jobsIn } from "../../operator/query/jobs.ts";
import { windows } from "../../store/ops/scan.ts";
import { describeFilter, type Filter, isEmpty, jobFilter } from "../read/filter.ts";
import { actionsIn, checkQueue, type JobAction } from "../read/job_sets.ts";

/** Single jobs by ref, or all jobs of a place that match a filter. */
export type Selection =
  | { readonly refs: readonly string[] }
  | { readonly place: Place; readonly filter: Filter };

/** The number of changed jobs; absent if the action continues in the background. */
export interface ActionResult {
  readonly changed?: number;
}

const EDITS: Readonly<Record<Exclude<JobAction, "cancel">, Edit>> = {
  retry: "requeue",
  kill: "kill",
  delete: "delete",
  move: "requeue",
};
const MAX_REFS = 10_000;
const CANCEL_BATCH = 500;

/**
 * Retries, kills, cancels, deletes or moves jobs.
 *
 * @param queue the target of `move`
 * @throws {HttpError} if the jobs of this place don't allow the action, or an argument is invalid
 */
export async function actOnJobs(
  services: Services,
  visitor: Visitor,
  action: JobAction,
  selection: Selection,
  queue?: string,
): Promise<ActionResult> {
  const to = action === "move" ? checkQueue(queue ?? "") : undefined;
  const note = { action, queue: to };
  if ("refs" in selection) {
    const { refs } = selection;
    if (refs.length > MAX_REFS) throw new HttpError(422, `Too many jobs: ${refs.length}; expected at most ${MAX_REFS}`);
    const target = await namesOf(services, refs);
    const changed = await editRefs(services, action, refs, to);
    const named = refs.slice(0, 20).join(" ");
    const deed = { target, ...(to !== undefined && { details: `to queue ${to}` }), count: changed };
    await recordAudit(services, visitor, { ...note, jobs: refs.length, changed, refs: named }, deed);
    return { changed };
  }
  const { place, filter } = selection;
  if (!actionsIn(place).includes(action)) {
    throw new HttpError(422, `Action "${action}" isn't available for jobs in ${placeName(place)}`);
  }
  const total = await readSize(services.store.admin, place);
  const details = [
    isEmpty(filter) ? "" : `with ${describeFilter(filter)}`,
    to === undefined ? "" : `to queue ${to}`,
  ].filter(Boolean).join(" ");
  const deed = { target: `all in ${placeName(place)}`, ...(details !== "" && { details }) };
  const line = { ...note, all: placeName(place), filter: describeFilter(filter) || undefined };
  const label = `${action} all ${isEmpty(filter) ? "" : "matching "}in ${placeName(place)}`;
  const steps = stepsOf(services, { action, place, filter, to, total });
  return await services.operations.run(label, async (show) => {
    let done = 0;
    const { changed } = await changeAll({
      total,
      steps,
      progress: async (more) => {
        show({ changed: done += more, total, answer: {} });
        await services.clock.turn();
      },
      record: ({ count, outcome }) => {
        const many = outcome === "begun" ? { total } : { changed: count };
        return recordAudit(services, visitor, { ...line, ...many }, { ...deed, count, ...(outcome && { outcome }) });
      },
    });
    return { changed };
  });
}

/** Returns how many jobs were changed. */
async function editRefs(services: Services, action: JobAction, refs: readonly string[], to?: string): Promise<number> {
  if (refs.length === 0) return 0;
  if (action !== "cancel") return await services.store.admin.edit(refs, EDITS[action], to);
  let changed = 0;
  for (let from = 0; from < refs.length; from += CANCEL_BATCH) {
    const some = refs.slice(from, from + CANCEL_BATCH);
    const entries = await services.store.admin.get(some);
    changed += await cancelEntries(
      services.store,
      entries.filter((entry) => entry !== undefined),
      services.clock.now(),
    );
  }
  return changed;
}

interface BulkAction {
  readonly action: JobAction;
  readonly place: Place;
  readonly filter: Filter;
  readonly to: string | undefined;
  readonly total: number;
}

/** Yields the number of changed jobs after each batch. */
function stepsOf(services: Services, bulk: BulkAction): AsyncIterable<number> {
  const { action, place, filter, total } = bulk;
  if (!isEmpty(filter) || action === "move") return matchingSteps(services, bulk);
  if (action === "cancel") return cancelSteps(services.store, { place, total, now: () => services.clock.now() });
  return editSteps(services.store, { place, edit: EDITS[action], total });
}

async function* matchingSteps(
  services: Services,
  { action, place, filter, to, total }: BulkAction,
): AsyncGenerator<number> {
  if (place.in === "queue" && place.queue === to) throw new HttpError(422, `The jobs are already in queue "${to}"`);
  const source = jobsIn(services, { place, filter: jobFilter(filter, services.clock.now()) });
  for await (const { rows } of windows(source, { most: total })) {
    yield action === "cancel"
      ? await cancelEntries(services.store, rows, services.clock.now())
      : await services.store.admin.edit(rows.map((entry) => entry.ref), EDITS[action], to);
  }
}

/** A push that was accepted. */
interface AcceptedPush {
  readonly jid: string;
  /** An earlier push had stored the job. */
  readonly existed: boolean;
  readonly replaced: boolean;
}

/**
 * Pushes a job.
 *
 * @throws {HttpError} if it is invalid, a duplicate of a unique job, or rejected by its batch
 */
export async function pushJob(services: Services, visitor: Visitor, request: JobRequest): Promise<AcceptedPush> {
  const pushed = await storeJob(services, request);
  if (pushed.existed) return pushed;
  const { jid } = pushed;
  const details = { target: jid, details: String(request.class), count: 1 };
  await recordAudit(services, visitor, { action: "push", class: request.class, jid }, details, "frequent");
  return pushed;
}

async function storeJob(services: Services, request: JobRequest): Promise<AcceptedPush> {
  let result: PushResult;
  try {
    result = await services.client.tryPush(request);
  } catch (error) {
    if (error instanceof UsedId) throw new HttpError(409, `Job not stored: ${error.message}`, error.field);
    if (error instanceof InvalidPayload) throw new HttpError(422, error.message, error.field);
    if (error instanceof BatchError) throw new HttpError(409, error.message, "batch");
    throw error;
  }
  if (result.refused !== undefined) throw new HttpError(409, `Job not stored: ${result.refused}`);
  return { jid: result.jid, existed: result.kind === "existed", replaced: result.kind === "replaced" };
}

/**
 * Pushes many jobs. A rejected job doesn't affect the others.
 *
 * @throws {StoreError} if the store fails; earlier jobs may have been stored
 */
export async function pushJobs(
  services: Services,
  visitor: Visitor,
  requests: readonly JobRequest[],
): Promise<PushResult[]> {
  const results: PushResult[] = [];
  for await (const result of services.client.pushMany(requests)) results.push(result);
  const pushed = results.filter((result) => result.jid !== undefined).length;
  const line = { action: "push", jobs: requests.length, changed: pushed };
  await recordAudit(services, visitor, line, { count: pushed }, "frequent");
  return results;
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
  "errors",
  "rescues",
  "suspected",
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
 * Pushes a changed copy of a job, then deletes the original. The copy has the original's arguments unless others are given.
 * If the process dies in between, both jobs exist.
 *
 * @throws {HttpError} if the new job is invalid
 */
export async function pushAgain(
  services: Services,
  visitor: Visitor,
  original: Entry,
  changed: { readonly class: string; readonly args?: unknown; readonly queue?: string; readonly id?: string },
): Promise<string> {
  const before = parsePayload(original.payload)?.payload;
  const rest = Object.fromEntries(Object.entries(before ?? {}).filter(([field]) => !HISTORY_FIELDS.includes(field)));
  const args = changed.args === undefined ? before?.args : services.mask.restore(changed.args, before?.args);
  // Without arguments, the client would push none. Those of an unreadable original are unknown.
  const request = { ...rest, ...changed, args: args ?? null } as JobRequest;
  const { jid } = await storeJob(services, request);
  const isKept = original.place.in === "running";
  if (!isKept) await services.store.admin.edit([original.ref], "delete");
  const [from = "(unreadable)"] = before?.jid ? [before.jid] : [];
  const details = `${request.class}, ${isKept ? "copy of" : "in place of"} job ${from} in ${placeName(original.place)}`;
  const line = { action: "push again", class: request.class, jid, original: from };
  await recordAudit(services, visitor, line, { target: jid, details, count: 1 });
  return jid;
}

/** Returns the target for the audit log: the jids of the first few jobs. */
async function namesOf(services: Services, refs: readonly string[]): Promise<string> {
  const entries = await services.store.admin.get(refs.slice(0, MAX_NAMES));
  const names = entries.flatMap((entry) =>
    entry === undefined ? [] : parsePayload(entry.payload)?.jid || "(unreadable)"
  );
  return fewOf(names, refs.length);
}
