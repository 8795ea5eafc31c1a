/**
 * The heartbeat's thread, see `heartbeat.ts`. It only acts on messages.
 *
 * @module
 */
import { systemClock } from "../../clock.ts";
import { isGone } from "../../store/port/errors.ts";
import { openStore, type StoreOptions } from "../../store/open.ts";
import { OrphanGuard, type OrphanGuardOptions } from "./orphan_guard.ts";
import type { Moment } from "../work/lease_guard.ts";
import { UnstartedMemory } from "../work/unstarted_memory.ts";
import { UnstartedWatch } from "../work/unstarted_watch.ts";
import type { HeartbeatReply, WorkerRecord } from "../../store/port/workers.ts";
import type { ServerStore } from "../../store/port/store.ts";

/** Messages to the thread. */
export type ToHeartbeat =
  | {
    readonly kind: "start";
    readonly storeUrl: string;
    readonly storeOptions: StoreOptions;
    readonly record: WorkerRecord;
    readonly at: Moment;
    /** See `unstarted_memory.ts`. */
    readonly unstarted: SharedArrayBuffer;
    readonly intervalMs: number;
    readonly ttlMs: number;
    /** Undefined unless a supervisor has started this process. */
    readonly orphan: Pick<OrphanGuardOptions, "parent" | "timeoutMs"> | undefined;
  }
  | { readonly kind: "record"; readonly record: WorkerRecord; readonly at: Moment }
  /** Jobs have been taken that the thread has to watch. */
  | { readonly kind: "watch" }
  | { readonly kind: "alive" }
  | { readonly kind: "stop" };

/** Messages from the thread. */
export type FromHeartbeat =
  /** The reply is `record`. */
  | { readonly kind: "report" }
  /** The reply is `alive`. */
  | { readonly kind: "ping" }
  /** Jobs that had not started were returned to their queues. Another worker already had `lost` of them. */
  | { readonly kind: "returned"; readonly tokens: readonly string[]; readonly lost: number }
  /** `sentAt` is when the main side described the worker, which was before the heartbeat was sent. */
  | HeartbeatReply & { readonly kind: "beat"; readonly sentAt: Moment; readonly loopDelayMs: number }
  | { readonly kind: "blocked"; readonly ms: number }
  | { readonly kind: "failed" | "gone"; readonly error: string }
  | { readonly kind: "stopped" };

/** Wait for the main side's reply. */
const REPLY_TIMEOUT_MS = 200;
/** A delay of the event loop from this time on is logged. */
const BLOCKED_MS = 1_000;

/** Maximum number of jobs released in one step of the store. */
const MAX_BATCH_JOBS = 1_000;
/** Pause between two attempts to release jobs, before jitter. */
const RETRY_MS = 500;

const scope = self as unknown as {
  postMessage(message: FromHeartbeat): void;
  onmessage: ((event: MessageEvent<ToHeartbeat>) => void) | null;
};

const stopping = new AbortController();
let store: ServerStore | undefined;
let known: WorkerRecord;
let knownAt: Moment;
let onReport: (() => void) | undefined;
let requestedAt: number | undefined;
let running: Promise<void> | undefined;
let guard: OrphanGuard | undefined;
let watch: UnstartedWatch | undefined;

scope.onmessage = ({ data }) => {
  switch (data.kind) {
    case "start":
      known = data.record;
      knownAt = data.at;
      watch = new UnstartedWatch({
        memory: new UnstartedMemory(data.unstarted),
        clock: systemClock,
        signal: stopping.signal,
        ping: () => scope.postMessage({ kind: "ping" }),
        release: (tokens) => void releaseAll(tokens),
      });
      void watch.watch();
      running = sendHeartbeats(data);
      if (data.orphan) void watchParent(data.orphan);
      break;
    case "record":
      known = data.record;
      guard?.replied();
      knownAt = data.at;
      onReport?.();
      break;
    case "watch":
      void watch?.watch();
      break;
    case "alive":
      watch?.replied();
      break;
    case "stop":
      void end();
      break;
  }
};

async function sendHeartbeats(
  { storeUrl, storeOptions, intervalMs, ttlMs }: Extract<ToHeartbeat, { kind: "start" }>,
): Promise<void> {
  // At once, to notice a file that is replaced later. The first heartbeat reports an error.
  store = await openStore(storeUrl, storeOptions).catch(() => undefined);
  for (let loopDelayMs = 0; !stopping.signal.aborted; loopDelayMs = await requestReport()) {
    try {
      store ??= await openStore(storeUrl, storeOptions);
      const sentAt = knownAt;
      scope.postMessage({ kind: "beat", ...await store.workers.heartbeat(known, ttlMs), sentAt, loopDelayMs });
    } catch (error) {
      scope.postMessage({ kind: isGone(error) ? "gone" : "failed", error: (error as Error).message });
    }
    await systemClock.sleep(intervalMs, stopping.signal);
  }
}

/** Returns jobs to the front of their queues. The last ones go first, so that the first ones end up before them. */
async function releaseAll(tokens: readonly string[]): Promise<void> {
  for (let to = tokens.length; to > 0; to -= MAX_BATCH_JOBS) {
    const part = tokens.slice(Math.max(0, to - MAX_BATCH_JOBS), to);
    const lost = await release(part);
    if (lost === undefined) return;
    scope.postMessage({ kind: "returned", tokens: part, lost });
  }
}

/** Retries until the store accepts it: nothing else releases these jobs before this worker deregisters. */
async function release(tokens: readonly string[]): Promise<number | undefined> {
  while (!stopping.signal.aborted) {
    try {
      const outcomes = tokens.map((token) => ({ kind: "release" as const, token }));
      const result = await store?.jobs.settle(known.id, outcomes);
      if (result) return result.lost.length;
    } catch (error) {
      // The next heartbeat reports it.
      if (isGone(error)) return;
    }
    await systemClock.sleep(RETRY_MS * (0.5 + Math.random()), stopping.signal);
  }
}

function watchParent(orphan: Pick<OrphanGuardOptions, "parent" | "timeoutMs">): Promise<void> {
  const ping = () => scope.postMessage({ kind: "report" });
  guard = new OrphanGuard({ ...orphan, ping, clock: systemClock, signal: stopping.signal });
  return guard.run();
}

/** Requests a report of the main side. Returns how long the reply took, or has taken until now. */
async function requestReport(): Promise<number> {
  const now = systemClock.monotonic();
  if (requestedAt === undefined) {
    requestedAt = now;
    scope.postMessage({ kind: "report" });
  }
  const since = requestedAt;
  const waiting = new AbortController();
  onReport = () => {
    const ms = systemClock.monotonic() - since;
    if (ms >= BLOCKED_MS) scope.postMessage({ kind: "blocked", ms });
    requestedAt = undefined;
    onReport = undefined;
    waiting.abort();
  };
  await systemClock.sleep(REPLY_TIMEOUT_MS, waiting.signal);
  return systemClock.monotonic() - since;
}

async function end(): Promise<void> {
  stopping.abort();
  await running;
  await store?.[Symbol.asyncDispose]();
  scope.postMessage({ kind: "stopped" });
}
