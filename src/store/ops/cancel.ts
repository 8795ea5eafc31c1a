/**
 * Cancels jobs in any place, for operators, workers and cron entries. A waiting job is removed and leaves a record,
 * which wakes the waiters for its result. The worker of a running job receives a command to abort it. A cancel takes several steps:
 * after a crash in between, nothing or everything has happened to a job, and it can be repeated.
 *
 * @module
 */
import { keptSteps } from "../../job/kept_steps.ts";
import { endedText } from "../../job/result.ts";
import { mayHaveSteps } from "../../job/step.ts";
import { type Job, parsePayload } from "../../job/job.ts";
import { getField } from "../../job/raw.ts";
import type { Entry } from "../port/entries.ts";
import type { JobStore } from "../port/jobs.ts";
import { CANCELLED_WORKER, type WorkerStore } from "../port/workers.ts";
import type { StepStore } from "../port/steps.ts";

/** The result for one job. `moved`: it was somewhere else each time, for example because a push replaces it all the time. */
export type CancelResult = "removed" | "aborted" | "dead" | "absent" | "moved";

/** The verbs of a store that cancelling uses. */
export type CancelStore = {
  readonly jobs: Pick<JobStore, "find" | "edit">;
  readonly workers: Pick<WorkerStore, "send">;
  readonly steps: Pick<StepStore, "read">;
};

/** Maximum number of attempts: a job may move between the search and the cancel. */
const MAX_ATTEMPTS = 5;
/** How long the record of a removed job is kept. */
export const RECORD_TTL_MS = 24 * 3_600 * 1_000;

/** Returns whether the job is cancelled, or its worker is aborting it. */
export function isCancelled(result: CancelResult): boolean {
  return result === "removed" || result === "aborted";
}

/**
 * Cancels one job in any place. A dead one stays.
 *
 * @param now epoch milliseconds
 */
export async function cancelJob(store: CancelStore, jid: string, now: number): Promise<CancelResult> {
  return (await cancelJobs(store, [jid], now)).get(jid)!;
}

/**
 * Cancels one job for a worker, unless that worker has leased it.
 *
 * @param now epoch milliseconds
 * @returns false if the worker has leased it, or if it has moved each time
 */
export async function cancelElsewhere(
  store: CancelStore,
  jid: string,
  worker: string,
  now: number,
): Promise<boolean> {
  const isHere = (entry: Entry) => entry.place.in === "running" && entry.worker === worker;
  if ((await store.jobs.find([jid])).some(isHere)) return false;
  return await cancelJob(store, jid, now) !== "moved";
}

/**
 * Cancels several jobs, which are searched for together.
 *
 * @param now epoch milliseconds
 * @returns the results in the order of the jids
 */
export async function cancelJobs(
  store: CancelStore,
  jids: readonly string[],
  now: number,
): Promise<Map<string, CancelResult>> {
  const results = new Map<string, CancelResult | undefined>(jids.map((jid) => [jid, undefined]));
  for (let i = 0; i < MAX_ATTEMPTS; i++) {
    const left = [...results].flatMap(([jid, one]) => one === undefined ? [jid] : []);
    if (left.length === 0) break;
    const found = Map.groupBy(await store.jobs.find(left), ({ payload }) => getField(payload, "jid"));
    await Promise.all(left.map(async (jid) => results.set(jid, await cancelFound(store, found.get(jid), jid, now))));
  }
  return new Map([...results].map(([jid, one]) => [jid, one ?? "moved"]));
}

/** Cancels the entries of a job. Returns undefined if it has moved from all of them. */
async function cancelFound(
  store: CancelStore,
  found: readonly Entry[] | undefined,
  jid: string,
  now: number,
): Promise<CancelResult | undefined> {
  if (found === undefined) return "absent";
  const living = found.filter(({ place }) => place.in !== "dead");
  if (living.length === 0) return "dead";
  const done = await Promise.all(living.map((entry) => cancelEntry(store, entry, jid, now)));
  return done.find((one) => one !== undefined);
}

/**
 * Cancels jobs by their entries. Only jobs that have moved are searched for in the whole store. Dead and unreadable jobs stay.
 *
 * @param now epoch milliseconds
 * @returns how many are cancelled
 */
export async function cancelEntries(store: CancelStore, entries: readonly Entry[], now: number): Promise<number> {
  const named = entries.flatMap((entry) => {
    const jid = parsePayload(entry.payload)?.payload.jid;
    return typeof jid !== "string" || entry.place.in === "dead" ? [] : [{ entry, jid }];
  });
  const inPlace = await Promise.all(named.map(({ entry, jid }) => cancelEntry(store, entry, jid, now)));
  const moved = named.filter((_, i) => inPlace[i] === undefined).map(({ jid }) => jid);
  const results = await cancelJobs(store, moved, now);
  return inPlace.length - moved.length + [...results.values()].filter(isCancelled).length;
}

/** Cancels a job by its entry. Returns undefined if the job has moved. */
async function cancelEntry(
  store: CancelStore,
  entry: Entry,
  jid: string,
  now: number,
): Promise<"removed" | "aborted" | undefined> {
  if (entry.place.in === "running") {
    // Cancelled before; no worker would receive the command.
    if (entry.worker === CANCELLED_WORKER) return "aborted";
    const wasSent = entry.worker !== undefined &&
      await store.workers.send(entry.worker, { verb: "cancel", jid, ref: entry.ref });
    return wasSent ? "aborted" : undefined;
  }
  // One call per job, because each removed job leaves a record. Concurrent calls share round trips.
  const job = parsePayload(entry.payload);
  const edit = job ? { cancel: { jid, ttlMs: RECORD_TTL_MS, body: await recordOf(store, job, now) } } : "delete";
  return await store.jobs.edit([entry.ref], edit) > 0 ? "removed" : undefined;
}

/** Returns the record of a cancelled job. */
export async function recordOf(store: Pick<CancelStore, "steps">, job: Job, now: number): Promise<string> {
  const { jid, payload, raw } = job;
  const steps = mayHaveSteps(payload) ? await store.steps.read(jid) : [];
  return endedText({ jid, class: job.class, queue: payload.queue, state: "cancelled", endedAt: now }, {
    steps: keptSteps(steps.map(({ name, record }) => [name, record])),
    payload: raw,
  });
}
