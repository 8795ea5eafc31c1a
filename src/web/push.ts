/**
 * Pushes of visitors: one job, many, or a changed copy of one.
 *
 * @module
 */
import { BatchError } from "../client/batch_errors.ts";
import type { PushResult } from "../client/client.ts";
import { UsedId } from "../client/unique.ts";
import { InvalidPayload } from "../job/errors.ts";
import { parsePayload } from "../job/job.ts";
import type { JobRequest } from "../job/payload.ts";
import type { Entry } from "../store/port/entries.ts";
import { placeName } from "../store/ops/job_sets.ts";
import { authorOf, recordAction } from "./audit.ts";
import type { Visitor } from "./auth/gate.ts";
import { HttpError } from "./http/body.ts";
import type { Services } from "./services.ts";

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
  const event = { ...authorOf(visitor), action: "push", target: jid, details: String(request.class), count: 1 };
  await recordAction(services, visitor, event, "frequent");
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
  await recordAction(services, visitor, { ...authorOf(visitor), action: "push", count: pushed }, "frequent");
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
  if (!isKept) await services.store.jobs.edit([original.ref], "delete");
  const [from = "(unreadable)"] = before?.jid ? [before.jid] : [];
  const details = `${request.class}, ${isKept ? "copy of" : "in place of"} job ${from} in ${placeName(original.place)}`;
  const event = { ...authorOf(visitor), action: "push again", target: jid, details, count: 1 };
  await recordAction(services, visitor, event, "rare");
  return jid;
}
