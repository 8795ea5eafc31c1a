/**
 * The heartbeat's thread: see `heartbeat.ts`. A Worker's entry: it does nothing but answer messages.
 *
 * @module
 */
import { systemClock } from "../clock.ts";
import { isGone } from "../store/errors.ts";
import { openStore, type StoreOptions } from "../store/open.ts";
import type { Beat, ProcessRecord, Store } from "../store/store.ts";
import { OrphanGuard, type OrphanGuardOptions } from "./orphan_guard.ts";
import type { Moment } from "./ownership.ts";

/** To the Worker. */
export type ToHeartbeat =
  | {
    readonly kind: "start";
    readonly storeUrl: string;
    readonly storeOptions: StoreOptions;
    readonly process: ProcessRecord;
    readonly at: Moment;
    readonly intervalMs: number;
    readonly ttlMs: number;
    /** Only for a process that a supervisor has started. */
    readonly orphan: Pick<OrphanGuardOptions, "parent" | "timeoutMs"> | undefined;
  }
  | { readonly kind: "process"; readonly process: ProcessRecord; readonly at: Moment }
  | { readonly kind: "stop" };

/** From the Worker. */
export type FromHeartbeat =
  | { readonly kind: "ask" }
  /** `sentAt` is when the main side described the process, which was before the heartbeat was sent. */
  | Beat & { readonly kind: "beat"; readonly sentAt: Moment; readonly loopDelayMs: number }
  | { readonly kind: "blocked"; readonly ms: number }
  | { readonly kind: "failed" | "gone"; readonly error: string }
  | { readonly kind: "stopped" };

/** The main side is given so long to say what it is doing. */
const ANSWER_MS = 200;
/** A delay of the event loop from which on it is worth a line in the log. */
const BLOCKED_MS = 1_000;

const scope = self as unknown as {
  postMessage(message: FromHeartbeat): void;
  onmessage: ((event: MessageEvent<ToHeartbeat>) => void) | null;
};

const stopping = new AbortController();
let store: Store | undefined;
let known: ProcessRecord;
let knownAt: Moment;
let answered: (() => void) | undefined;
let askedAt: number | undefined;
let running: Promise<void> | undefined;
let guard: OrphanGuard | undefined;

scope.onmessage = ({ data }) => {
  switch (data.kind) {
    case "start":
      known = data.process;
      knownAt = data.at;
      running = beatOn(data);
      if (data.orphan) void watchParent(data.orphan);
      break;
    case "process":
      known = data.process;
      guard?.answered();
      knownAt = data.at;
      answered?.();
      break;
    case "stop":
      void end();
      break;
  }
};

async function beatOn(
  { storeUrl, storeOptions, intervalMs, ttlMs }: Extract<ToHeartbeat, { kind: "start" }>,
): Promise<void> {
  // At once, so that a file which is replaced later is missed here, too. What fails now is said with the first beat.
  store = await openStore(storeUrl, storeOptions).catch(() => undefined);
  for (let loopDelayMs = 0; !stopping.signal.aborted; loopDelayMs = await ask()) {
    try {
      store ??= await openStore(storeUrl, storeOptions);
      const sentAt = knownAt;
      scope.postMessage({ kind: "beat", ...await store.beat(known, ttlMs), sentAt, loopDelayMs });
    } catch (error) {
      scope.postMessage({ kind: isGone(error) ? "gone" : "failed", error: (error as Error).message });
    }
    await systemClock.sleep(intervalMs, stopping.signal);
  }
}

function watchParent(orphan: Pick<OrphanGuardOptions, "parent" | "timeoutMs">): Promise<void> {
  const ask = () => scope.postMessage({ kind: "ask" });
  guard = new OrphanGuard({ ...orphan, ask, clock: systemClock, signal: stopping.signal });
  return guard.run();
}

/** Asks the main side what it is doing; returns how long the answer took, or has been taking until now. */
async function ask(): Promise<number> {
  const now = systemClock.monotonic();
  if (askedAt === undefined) {
    askedAt = now;
    scope.postMessage({ kind: "ask" });
  }
  const since = askedAt;
  const patience = new AbortController();
  answered = () => {
    const ms = systemClock.monotonic() - since;
    if (ms >= BLOCKED_MS) scope.postMessage({ kind: "blocked", ms });
    askedAt = undefined;
    answered = undefined;
    patience.abort();
  };
  await systemClock.sleep(ANSWER_MS, patience.signal);
  return systemClock.monotonic() - since;
}

async function end(): Promise<void> {
  stopping.abort();
  await running;
  await store?.[Symbol.asyncDispose]();
  scope.postMessage({ kind: "stopped" });
}
