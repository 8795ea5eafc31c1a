/**
 * Jobs, workers and reads for the cases.
 *
 * @module
 */
import type { LogName } from "../../src/store/port/logs.ts";
import { assertEquals } from "@std/assert";
import { systemClock } from "../../src/clock.ts";
import { getField, setFields } from "../../src/job/raw.ts";
import type { Entry, PageRequest, Place } from "../../src/store/port/entries.ts";
import type { DoomedJob, Lease, NewJob, RescueResult } from "../../src/store/port/jobs.ts";
import type { Outcome } from "../../src/store/port/outcomes.ts";
import type { TestStore } from "./harness.ts";
import type { Store } from "../../src/store/admin/store.ts";
import type { ServerStore } from "../../src/store/port/store.ts";
import type { WorkerRecord } from "../../src/store/port/workers.ts";

/** Long enough that no heartbeat lapses by chance. */
export const TTL_MS = 60_000;
/** Longer than {@linkcode TTL_MS}: after it, a worker without a heartbeat is offline. */
export const LAPSE_MS = 90_000;
export const HOUR_MS = 3_600_000;

/** Returns the jid of the n-th job: 24 hex digits, in the order of n. */
export function jid(n: number): string {
  return n.toString(16).padStart(24, "0");
}

/** Returns the n-th job: in queue `default`, to run now, unless `more` says otherwise. */
export function job(n: number, change: Partial<NewJob> = {}): NewJob {
  const queue = change.queue ?? "default";
  const payload = `{"class":"HardJob","args":[${n}],"retry":true,"queue":${JSON.stringify(queue)},"jid":"${
    jid(n)
  }","created_at":1700000000.125}`;
  return { jid: jid(n), queue, payload, ...change };
}

/** Returns the jobs `from` … `to`. */
export function jobs(from: number, to: number, change: Partial<NewJob> = {}): NewJob[] {
  return Array.from({ length: to - from + 1 }, (_, i) => job(from + i, change));
}

/** Returns the record of a worker. */
export function workerRecord(id: string, change: Partial<WorkerRecord> = {}): WorkerRecord {
  return {
    id,
    hostname: "host",
    pid: 4711,
    tag: "",
    labels: [],
    queues: ["default"],
    weights: { default: 0 },
    concurrency: 10,
    version: "0.1.0",
    startedAt: 1_700_000_000_000,
    quiet: false,
    busy: 0,
    rss: 64 * 1024 * 1024,
    work: [],
    ...change,
  };
}

/** Registers a worker, and returns its ID. */
export async function register(store: ServerStore, worker = "host:1:aaaaaaaaaaaa"): Promise<string> {
  await store.workers.heartbeat(workerRecord(worker), TTL_MS);
  return worker;
}

/** The worker that rescues the leases of others. */
export const RESCUER = "host:0:ffffffffffff";

/** Lets {@linkcode LAPSE_MS} pass while only {@linkcode RESCUER} sends heartbeats: all others are offline then. */
export async function lapse(t: Pick<TestStore, "store" | "advance">): Promise<void> {
  await register(t.store, RESCUER);
  for (let passed = 0; passed < LAPSE_MS; passed += TTL_MS / 4) {
    t.advance(TTL_MS / 4);
    await register(t.store, RESCUER);
  }
}

/** Rescues as {@linkcode RESCUER}. */
export function rescueFor(store: ServerStore, limit = 100, maxRescues = 3): Promise<RescueResult> {
  return store.jobs.rescue({ worker: RESCUER, limit, maxRescues });
}

/** Rescues as {@linkcode RESCUER} until offline workers only have doomed jobs. Returns how many leases. */
export async function rescueAll(store: ServerStore): Promise<number> {
  for (let rescued = 0;;) {
    const step = await rescueFor(store);
    rescued += step.rescued;
    if (!step.more) return rescued;
  }
}

/** Makes a job a suspect, and then lets it kill its worker: the rescue finds it doomed. */
export async function doom(t: TestStore): Promise<DoomedJob> {
  for (;;) {
    const worker = await register(t.store);
    const [lease] = await takeUpTo(t.store, worker, 1);
    await t.store.workers.note(worker, { running: { tokens: [lease!.token], alone: true } });
    await lapse(t);
    const [doomed] = (await rescueFor(t.store, 100, 2)).doomed;
    if (doomed !== undefined) return doomed;
  }
}

/** Takes up to `limit` jobs. */
export function takeUpTo(
  store: ServerStore,
  worker: string,
  limit = 100,
  queues: readonly string[] = ["default"],
): Promise<Lease[]> {
  return store.jobs.take({ queues, limit, worker });
}

/** Puts jobs into `retry`, due after `delayMs`, through a queue and a lease. */
export async function inRetry(
  store: ServerStore,
  worker: string,
  batch: readonly NewJob[],
  delayMs: number,
): Promise<void> {
  await passThrough(store, worker, batch, (token, payload) => ({ kind: "retry", token, payload, delayMs }));
}

/** Puts jobs into `dead`, through a queue and a lease. */
export async function inDead(store: ServerStore, worker: string, batch: readonly NewJob[]): Promise<void> {
  await passThrough(store, worker, batch, (token, payload) => ({ kind: "bury", token, payload }));
}

async function passThrough(
  store: ServerStore,
  worker: string,
  batch: readonly NewJob[],
  settle: (token: string, payload: string) => Outcome,
): Promise<void> {
  await store.jobs.enqueue(batch);
  const leases = await takeUpTo(store, worker, batch.length, [...new Set(batch.map((one) => one.queue))]);
  const payloads = new Map(batch.map((one) => [one.jid, one.payload]));
  await store.jobs.settle(
    worker,
    leases.map((lease) => {
      return settle(lease.token, payloads.get(String(getField(lease.payload, "jid"))) ?? lease.payload);
    }),
  );
}

/** Returns which jobs they are: the number in `args`, or the payload itself without one. */
export function numbers(things: readonly { readonly payload: string }[]): unknown[] {
  return things.map(({ payload }) => {
    const args = getField(payload, "args");
    return Array.isArray(args) ? args[0] : payload;
  });
}

/** Returns all entries of a place, page by page. */
export async function entries(store: Store, place: Place, request: PageRequest = {}): Promise<Entry[]> {
  const all: Entry[] = [];
  let cursor: string | undefined;
  for (;;) {
    const page = await store.admin.page(place, cursor === undefined ? request : { ...request, cursor });
    all.push(...page.entries);
    if (page.next === undefined) return all;
    cursor = page.next;
  }
}

/** Returns the jobs of a place, in its order. */
export async function numbersIn(store: Store, place: Place): Promise<unknown[]> {
  return numbers(await entries(store, place));
}

/** Asserts that a stored payload is the given one, byte for byte, except for the fields that the store writes. */
export function assertSamePayload(stored: string, given: string, but: readonly string[] = ["enqueued_at"]): void {
  assertEquals(setFields(stored, Object.fromEntries(but.map((name) => [name, undefined]))), given);
}

/**
 * Starts a wait, then acts, and returns what the wait came to.
 *
 * @throws when the wait is not over long after the act
 */
export async function woken<T>(wait: (signal: AbortSignal) => Promise<T>, act: () => Promise<unknown>): Promise<T> {
  const patience = new AbortController();
  const waiting = wait(patience.signal).then((value) => ({ value }));
  await act();
  const first = await Promise.race([waiting, systemClock.sleep(60_000, patience.signal)]);
  patience.abort();
  if (!first) throw new Error("The wait did not end");
  return first.value;
}

/** Returns the texts of a log, latest first. */
export async function logTexts({ logs }: Pick<ServerStore, "logs">, log: LogName, limit: number): Promise<string[]> {
  return (await logs.page(log, { limit })).entries.map(({ text }) => text);
}
