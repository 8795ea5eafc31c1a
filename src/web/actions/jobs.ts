/**
 * What an operator does, for pages and API alike: each action is one function, checks what it is given, and is written
 * down: who did what to how many, and what came of it.
 *
 * @module
 */
import type { PushResult } from "../../client/client.ts";
import { formatDuration } from "../../job/duration.ts";
import { InvalidPayload } from "../../job/errors.ts";
import { parsePayload } from "../../job/job.ts";
import type { JobRequest } from "../../job/payload.ts";
import type { Edit, Entry, Place } from "../../store/admin/admin.ts";
import { cancelEntries, cancelSteps } from "../../store/ops/cancel.ts";
import { changeAll, editSteps } from "../../store/ops/bulk_edit.ts";
import { placeName, sizeOf } from "../../store/ops/job_sets.ts";
import { parseRunning, parseStarts, type QueueLimit } from "../../store/port/limits.ts";
import { ALL_QUEUES, pauseTarget } from "../../store/port/paused_queues.ts";
import { fewOf, MAX_NAMES } from "../../text/format.ts";
import { limitText } from "../../text/limits.ts";
import { recordAudit } from "./audit.ts";
import type { Visitor } from "../auth/gate.ts";
import { HttpError } from "../http/body.ts";
import type { Services } from "../services.ts";
import { describeFilter, type Filter, isEmpty } from "../read/filter.ts";
import { actionsIn, checkQueue, type JobAction } from "../read/job_sets.ts";
import { windows } from "../read/scan.ts";

/** Jobs one by one, or all of a place that pass a filter. */
export type Selection =
  | { readonly refs: readonly string[] }
  | { readonly place: Place; readonly filter: Filter };

/** What came of it: how many were changed; absent when it goes on by itself. */
export interface ActionResult {
  readonly changed?: number;
}

const EDITS: Readonly<Record<Exclude<JobAction, "cancel">, Edit>> = {
  retry: "requeue",
  kill: "kill",
  delete: "delete",
  move: "requeue",
};
/** A visitor waits so long for an action on many jobs. */
export const TIMEOUT_MS = 1_500;
const MAX_REFS = 10_000;
const CANCELLED_AT_ONCE = 500;

/**
 * Does something with jobs.
 *
 * @param queue where to move them
 * @throws {HttpError} when that cannot be done with these
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
    if (refs.length > MAX_REFS) throw new HttpError(422, `${refs.length} jobs named; wanted: at most ${MAX_REFS}`);
    const target = await namesOf(services, refs);
    const changed = await editRefs(services, action, refs, to);
    const named = refs.slice(0, 20).join(" ");
    const deed = { target, ...(to !== undefined && { details: `to queue ${to}` }), count: changed };
    await recordAudit(services, visitor, { ...note, jobs: refs.length, changed, refs: named }, deed);
    return { changed };
  }
  const { place, filter } = selection;
  if (!actionsIn(place).includes(action)) {
    throw new HttpError(422, `Jobs in ${placeName(place)} cannot be dealt with by "${action}"`);
  }
  const total = sizeOf(place, await services.store.admin.stats());
  const details = [
    isEmpty(filter) ? "" : `with ${describeFilter(filter)}`,
    to === undefined ? "" : `to queue ${to}`,
  ].filter(Boolean).join(" ");
  const deed = { target: `all in ${placeName(place)}`, ...(details !== "" && { details }) };
  const line = { ...note, all: placeName(place), filter: describeFilter(filter) || undefined };
  const label = `${action} all ${isEmpty(filter) ? "" : "matching "}in ${placeName(place)}`;
  const steps = stepsOf(services, { action, place, filter, to, total });
  const changed = await services.operations.run({ label, total, patienceMs: TIMEOUT_MS }, async (progress) => {
    await changeAll({
      total,
      steps,
      progress: async (more) => {
        progress(more);
        await services.clock.turn();
      },
      writeDown: ({ count, outcome }) => {
        const many = outcome === "begun" ? { total } : { changed: count };
        return recordAudit(services, visitor, { ...line, ...many }, { ...deed, count, ...(outcome && { outcome }) });
      },
    });
  });
  return changed === undefined ? {} : { changed };
}

/** How many of them were changed. */
async function editRefs(services: Services, action: JobAction, refs: readonly string[], to?: string): Promise<number> {
  if (refs.length === 0) return 0;
  if (action !== "cancel") return await services.store.admin.edit(refs, EDITS[action], to);
  let changed = 0;
  for (let from = 0; from < refs.length; from += CANCELLED_AT_ONCE) {
    const some = refs.slice(from, from + CANCELLED_AT_ONCE);
    const entries = await Promise.all(some.map((ref) => services.store.admin.get(ref)));
    changed += await cancelEntries(
      services.store,
      entries.filter((entry) => entry !== undefined),
      services.clock.now(),
    );
  }
  return changed;
}

interface AllOf {
  readonly action: JobAction;
  readonly place: Place;
  readonly filter: Filter;
  readonly to: string | undefined;
  readonly total: number;
}

/** The steps that do it to all of a place that pass: so many were changed. */
function stepsOf(services: Services, all: AllOf): AsyncIterable<number> {
  const { action, place, filter, total } = all;
  if (!isEmpty(filter) || action === "move") return matchingSteps(services, all);
  if (action === "cancel") return cancelSteps(services.store, { place, total, now: () => services.clock.now() });
  return editSteps(services.store, { place, edit: EDITS[action], total });
}

async function* matchingSteps(services: Services, { action, place, filter, to, total }: AllOf): AsyncGenerator<number> {
  if (place.in === "queue" && place.queue === to) throw new HttpError(422, `They are in queue "${to}" already`);
  let looked = 0;
  for await (const window of windows(services, { place, filter })) {
    yield action === "cancel"
      ? await cancelEntries(services.store, window.entries, services.clock.now())
      : await services.store.admin.edit(window.entries.map((entry) => entry.ref), EDITS[action], to);
    looked += window.looked;
    if (looked >= total) return;
  }
}

/**
 * Pushes a job.
 *
 * @returns its jid, and whether an earlier push had stored it
 * @throws {HttpError} if it cannot be stored as it is, or its unique lock is held
 */
export async function pushJob(
  services: Services,
  visitor: Visitor,
  request: JobRequest,
  action = "push",
): Promise<{ readonly jid: string; readonly existed: boolean }> {
  let result: PushResult;
  try {
    result = await services.client.tryPush(request);
  } catch (error) {
    if (error instanceof InvalidPayload) throw new HttpError(422, error.message, error.field);
    throw error;
  }
  const { jid, existed = false } = result;
  if (existed) return { jid: jid!, existed };
  if (jid === undefined) {
    throw new HttpError(409, "Not pushed: a job with the same class, queue and arguments is there");
  }
  // Programs push by the thousand: of theirs the log has a line, and the store's audit log none.
  const deed = visitor.by === "token" ? undefined : { target: jid, details: String(request.class), count: 1 };
  await recordAudit(services, visitor, { action, class: request.class, jid }, deed);
  return { jid, existed };
}

/**
 * Pushes many jobs; one that is refused stops none of the others.
 *
 * @throws {StoreError} when the store fails on the way
 */
export async function pushJobs(
  services: Services,
  visitor: Visitor,
  requests: readonly JobRequest[],
): Promise<PushResult[]> {
  const results: PushResult[] = [];
  for await (const result of services.client.pushMany(requests)) results.push(result);
  const pushed = results.filter((result) => result.jid !== undefined).length;
  const deed = visitor.by === "token" ? undefined : { count: pushed };
  await recordAudit(services, visitor, { action: "push", jobs: requests.length, changed: pushed }, deed);
  return results;
}

/**
 * Fields that belong to a job's past, not to a new one like it: nor is a new one the crontab's, nor linked to the trace of
 * the old one's push.
 */
const PAST = [
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
  "unique_key",
  "discarded_at",
  "occurrence",
  "traceparent",
  "tracestate",
  "baggage",
];

/**
 * Pushes a changed job, with its own arguments where no others are given, then deletes the one it was made from: should we die in between, both are there.
 *
 * @throws {HttpError} when it cannot be stored as it is
 */
export async function pushAgain(
  services: Services,
  visitor: Visitor,
  original: Entry,
  changed: { readonly class: string; readonly args?: unknown; readonly queue: string },
): Promise<string> {
  const before = parsePayload(original.payload)?.payload;
  const rest = Object.fromEntries(Object.entries(before ?? {}).filter(([field]) => !PAST.includes(field)));
  const args = changed.args === undefined ? before?.args : services.mask.restore(changed.args, before?.args);
  const request = { ...rest, ...changed, args } as JobRequest;
  const { jid } = await pushJob(services, visitor, request, "push again");
  if (original.place.in !== "leased") await services.store.admin.edit([original.ref], "delete");
  return jid;
}

/** Pauses a queue, for so long or until it is resumed, or resumes it; `*` is all of them. */
export async function setPaused(
  services: Services,
  visitor: Visitor,
  queue: string,
  paused: boolean,
  forMs?: number,
): Promise<void> {
  if (queue !== ALL_QUEUES) checkQueue(queue);
  await (paused ? services.store.admin.pause(queue, forMs) : services.store.admin.pause(queue, 0));
  const span = forMs === undefined ? undefined : formatDuration(forMs);
  await recordAudit(services, visitor, { action: paused ? "pause" : "resume", queue, ...(span && { for: span }) }, {
    target: pauseTarget(queue),
    ...(span && { details: `for ${span}` }),
  });
}

/**
 * Limits a queue to what somebody wrote: `running` as `5`, `starts` as `100/1m`; what is empty is not limited.
 *
 * @throws {HttpError} when it cannot be read
 */
export async function setLimit(
  services: Services,
  visitor: Visitor,
  name: string,
  said: { readonly running: string; readonly starts: string },
): Promise<QueueLimit> {
  const queue = checkQueue(name);
  let limit: QueueLimit;
  try {
    limit = {
      ...(said.running.trim() !== "" && { running: parseRunning(said.running) }),
      ...(said.starts.trim() !== "" && { starts: parseStarts(said.starts) }),
    };
  } catch (error) {
    throw new HttpError(422, (error as Error).message);
  }
  await services.store.admin.limit(queue, limit);
  const details = limitText(limit) || "off";
  await recordAudit(services, visitor, { action: "limit", queue, limit: details }, {
    target: pauseTarget(queue),
    details,
  });
  return limit;
}

/** The jids of the first few: what the audit log calls them. */
async function namesOf(services: Services, refs: readonly string[]): Promise<string> {
  const entries = await Promise.all(refs.slice(0, MAX_NAMES).map((ref) => services.store.admin.get(ref)));
  const names = entries.flatMap((entry) =>
    entry === undefined ? [] : parsePayload(entry.payload)?.jid || "(unreadable)"
  );
  return fewOf(names, refs.length);
}
