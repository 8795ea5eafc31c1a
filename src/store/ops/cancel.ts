/**
 * Cancelling jobs, wherever they are: one that waits is removed and leaves a record, so that whoever waits for it knows;
 * the process that performs one is asked to abort it. The same for the command line, the dashboard and the crontab.
 *
 * @module
 */
import { endedText } from "../../job/result.ts";
import { parsePayload } from "../../job/job.ts";
import { getField } from "../../job/raw.ts";
import type { AdminStore, Entry, Page, Place } from "../admin/admin.ts";
import type { WorkerStore } from "../port/workers.ts";
import type { ResultStore } from "../port/results.ts";

/** What became of one job. */
export type CancelResult = "removed" | "aborted" | "dead" | "absent";

/** What it needs of a store. */
export type CancelStore = {
  readonly admin: Pick<AdminStore, "find" | "edit">;
  readonly workers: Pick<WorkerStore, "send">;
  readonly results: Pick<ResultStore, "keep">;
};

/** A job may move on between looking and acting: then look again. */
const TRIES = 5;
/** So many are cancelled in one step. */
const PAGE = 500;
/** The record of one that was removed is kept so long. */
const KEPT_MS = 24 * 3_600 * 1_000;

/** Whether it is, or soon will be, as was asked. */
export function isCancelled(result: CancelResult): boolean {
  return result === "removed" || result === "aborted";
}

/**
 * Cancels one job, wherever it is. A dead one stays.
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
 * @returns false if the worker has leased it
 */
export async function cancelElsewhere(
  store: CancelStore,
  jid: string,
  worker: string | undefined,
  now: number,
): Promise<boolean> {
  const isHere = ({ place, owner }: Entry) => place.in === "leased" && owner === worker;
  if (worker !== undefined && (await store.admin.find([jid])).some(isHere)) return false;
  await cancelJob(store, jid, now);
  return true;
}

/**
 * The same for several, which are looked for all at once.
 *
 * @param now epoch milliseconds
 * @returns what became of each, in their order
 */
export async function cancelJobs(
  store: CancelStore,
  jids: readonly string[],
  now: number,
): Promise<Map<string, CancelResult>> {
  const became = new Map<string, CancelResult | undefined>(jids.map((jid) => [jid, undefined]));
  for (let i = 0; i < TRIES; i++) {
    const left = [...became].flatMap(([jid, one]) => one === undefined ? [jid] : []);
    if (left.length === 0) break;
    const found = Map.groupBy(await store.admin.find(left), ({ payload }) => getField(payload, "jid"));
    await Promise.all(left.map(async (jid) => became.set(jid, await cancelFound(store, found.get(jid), jid, now))));
  }
  return new Map([...became].map(([jid, one]) => [jid, one ?? "absent"]));
}

/** Undefined when it has moved on from everywhere meanwhile. */
async function cancelFound(
  store: CancelStore,
  found: readonly Entry[] | undefined,
  jid: string,
  now: number,
): Promise<CancelResult | undefined> {
  if (found === undefined) return "absent";
  const living = found.filter(({ place }) => place.in !== "dead");
  if (living.length === 0) return "dead";
  const done = await Promise.all(living.map((entry) => cancelThere(store, entry, jid, now)));
  return done.find((one) => one !== undefined);
}

/**
 * Cancels jobs that were seen somewhere. Each is looked for where it was; only what moved meanwhile, in the whole store.
 * What is dead or cannot be read is left alone.
 *
 * @param now epoch milliseconds
 * @returns how many are cancelled
 */
export async function cancelEntries(store: CancelStore, entries: readonly Entry[], now: number): Promise<number> {
  const named = entries.flatMap((entry) => {
    const jid = parsePayload(entry.payload)?.payload.jid;
    return typeof jid !== "string" || entry.place.in === "dead" ? [] : [{ entry, jid }];
  });
  const there = await Promise.all(named.map(({ entry, jid }) => cancelThere(store, entry, jid, now)));
  const moved = named.filter((_, i) => there[i] === undefined).map(({ jid }) => jid);
  const became = await cancelJobs(store, moved, now);
  return there.length - moved.length + [...became.values()].filter(isCancelled).length;
}

/**
 * The steps that cancel the jobs of a place, a page each, that is read before any of its jobs leaves: so many were
 * cancelled. No more than `total` are looked at: what comes there meanwhile is left alone.
 *
 * @param now epoch milliseconds, by the caller's clock
 */
export async function* cancelSteps(
  store: CancelStore & { readonly admin: Pick<AdminStore, "page"> },
  { place, total, now }: { readonly place: Place; readonly total: number; readonly now: () => number },
): AsyncGenerator<number> {
  let cursor: string | undefined;
  for (let left = total; left > 0;) {
    const { entries, next }: Page = await store.admin.page(place, {
      limit: Math.min(PAGE, left),
      ...(cursor !== undefined && { cursor }),
    });
    yield await cancelEntries(store, entries, now());
    left -= entries.length;
    cursor = next;
    if (next === undefined) return;
  }
}

/** Cancels a job where it was seen; undefined when it is there no longer. */
async function cancelThere(
  store: CancelStore,
  entry: Entry,
  jid: string,
  now: number,
): Promise<"removed" | "aborted" | undefined> {
  if (entry.place.in === "leased") {
    const asked = entry.owner !== undefined && await store.workers.send(entry.owner, { verb: "cancel", jid });
    return asked ? "aborted" : undefined;
  }
  // One by one, as for each that is removed there is to be a record; together they are a few round trips.
  const body = recordOf(entry, jid, now);
  const isRemoved = body === undefined
    ? await store.admin.edit([entry.ref], "delete") > 0
    : await store.results.keep({ jid, ttlMs: KEPT_MS, body }, entry.ref);
  return isRemoved ? "removed" : undefined;
}

/** What is kept of a job that is cancelled; undefined for one that cannot be read. */
function recordOf({ payload: raw }: Entry, jid: string, now: number): string | undefined {
  const job = parsePayload(raw);
  if (job === undefined) return undefined;
  const { payload } = job;
  return endedText({ jid, class: job.class, queue: payload.queue, state: "cancelled", ended_at: now, payload });
}
