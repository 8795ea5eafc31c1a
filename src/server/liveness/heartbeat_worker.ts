/**
 * The heartbeat's thread, see `heartbeat.ts`. It sends the heartbeats, receives commands, and acts for the main thread while a
 * handler blocks the event loop (`loop_watch.ts`, `stop_guard.ts`, `stand_in.ts`).
 *
 * @module
 */
import { systemClock } from "../../clock.ts";
import { isGone } from "../../store/port/errors.ts";
import { openStore } from "../../store/open.ts";
import { CommandReceiver } from "../control/command_receiver.ts";
import { onSignals } from "../control/signals.ts";
import { BoardReader } from "../control/task_board.ts";
import { BlockedReport } from "./blocked_report.ts";
import { type FromHeartbeat, type GuardOptions, retryMs, type ToHeartbeat } from "./heartbeat_messages.ts";
import { LoopWatch } from "./loop_watch.ts";
import { StandIn } from "./stand_in.ts";
import { StopGuard } from "./stop_guard.ts";
import type { Moment } from "../work/lease_guard.ts";
import { UnstartedMemory } from "../work/unstarted_memory.ts";
import type { Command, WorkerRecord } from "../../store/port/workers.ts";
import type { ServerStore } from "../../store/port/store.ts";

/** Wait for the main side's reply. */
const REPLY_TIMEOUT_MS = 200;
/** An event loop that doesn't reply for this long doesn't print a dump either. */
const DUMP_TIMEOUT_MS = 300;

/** Maximum number of jobs released in one step of the store. */
const MAX_CHUNK_JOBS = 1_000;
/** Pause between two attempts to release jobs, before jitter. */
const RETRY_MS = 500;

const scope = self as unknown as {
  postMessage(message: FromHeartbeat): void;
  onmessage: ((event: MessageEvent<ToHeartbeat>) => void) | null;
};

/** Aborts when the heartbeats end. */
const stopping = new AbortController();
/** Aborts when the thread does nothing any more. Only the end of the thread does that. */
const { signal: ended } = new AbortController();
let store: ServerStore | undefined;
/** Opens the store. Only after `start`, and if the thread sends the heartbeats. */
let open: () => Promise<ServerStore>;
let known: WorkerRecord;
let knownAt: Moment;
let learntAt: number;
let onReport: (() => void) | undefined;
let requestedAt: number | undefined;
let running: Promise<unknown> | undefined;
let beatNow = new AbortController();
let memory: UnstartedMemory;
let board: BoardReader;
let watch: LoopWatch;
let guard: StopGuard | undefined;
let standIn: StandIn;
let report: BlockedReport;

scope.onmessage = ({ data }) => {
  switch (data.kind) {
    case "start":
      start(data);
      break;
    case "record":
      learn(data);
      onReport?.();
      break;
    case "word":
      board.learn(data.word);
      break;
    case "watch":
      void watch.watch();
      break;
    case "alive":
      watch.replied();
      break;
    case "beat":
      beatNow.abort();
      break;
    case "timeout":
      guard?.setTimeout(data.ms);
      break;
    case "stop":
      void end();
      break;
  }
};

function start(options: Extract<ToHeartbeat, { kind: "start" }>): void {
  learn(options);
  memory = new UnstartedMemory(options.unstarted);
  board = new BoardReader(options.board);
  watch = new LoopWatch({
    clock: systemClock,
    signal: ended,
    ping: () => scope.postMessage({ kind: "ping" }),
    rest: () => !board.isBusy && !memory.hasWaiting && memory.sleep(),
    onBlocked,
    onUnblocked: (ms) => report.over(ms),
  });
  const mainTime = () => ({ ...knownAt, monotonic: knownAt.monotonic + systemClock.monotonic() - learntAt });
  const shared = { clock: systemClock, board, watch, worker: known.id, log: options.guard?.log };
  standIn = new StandIn({ ...shared, mainTime: () => ({ ...mainTime(), now: systemClock.now() }) });
  report = new BlockedReport({
    standIn,
    beat: () => beatNow.abort(),
    onOver: (ms, by) => scope.postMessage({ kind: "blocked", ms, by }),
  });
  if (options.guard) startGuard(options.guard);
  void watch.watch();
  const { storeUrl, storeOptions } = options;
  if (storeUrl === undefined) return;
  open = () => openStore(storeUrl, storeOptions);
  running = Promise.all([sendHeartbeats(options), receiveCommands()]);
}

function learn({ record, at }: { readonly record: WorkerRecord; readonly at: Moment }): void {
  known = record;
  knownAt = at;
  learntAt = systemClock.monotonic();
}

function startGuard({ timeoutMs, parent }: GuardOptions): void {
  guard = new StopGuard({ clock: systemClock, signal: ended, watch, timeoutMs, end: endProcess });
  if (parent !== undefined) void guard.watchParent(parent);
  const stop = () => guard!.request();
  // The main thread listens as well, and acts on them when its event loop turns.
  onSignals({ SIGTERM: stop, SIGINT: stop, SIGTTIN: () => void dumpIfBlocked() });
}

async function sendHeartbeats(
  { intervalMs, ttlMs }: Extract<ToHeartbeat, { kind: "start" }>,
): Promise<void> {
  // At once, to notice a file that is replaced later. The first heartbeat reports an error.
  store = await open().catch(() => undefined);
  for (let loopDelayMs = 0; !stopping.signal.aborted; loopDelayMs = await requestReport()) {
    let pauseMs = intervalMs;
    try {
      store ??= await open();
      const sentAt = knownAt;
      const record = standIn.describe(known);
      report.sent(record.blocked !== undefined);
      const { commands, lapsed } = await store.workers.heartbeat(record, ttlMs);
      scope.postMessage({ kind: "beat", commands: [], lapsed, sentAt, loopDelayMs });
      await accept(commands);
    } catch (error) {
      pauseMs = Math.min(retryMs(ttlMs), intervalMs);
      scope.postMessage({ kind: isGone(error) ? "gone" : "failed", error: (error as Error).message });
    }
    // A job may have started before the thread could know of it.
    if (board.isBusy) void watch.watch();
    await systemClock.sleep(pauseMs, AbortSignal.any([stopping.signal, beatNow.signal]));
    if (beatNow.signal.aborted) beatNow = new AbortController();
  }
}

/** Receives commands here, because one that the main thread has received waits while its event loop is blocked. */
async function receiveCommands(): Promise<void> {
  const { signal } = stopping;
  while (!signal.aborted) {
    if (store === undefined) await systemClock.sleep(RETRY_MS, signal);
    else await new CommandReceiver({ store, clock: systemClock, worker: known.id, accept }).run(signal);
  }
}

/** Acts on commands if the event loop is blocked, and passes them on. */
async function accept(commands: readonly Command[]): Promise<void> {
  const others: Command[] = [];
  for (const command of commands) {
    if (command.verb === "beat") {
      beatNow.abort();
      continue;
    }
    if (command.verb === "stop") guard?.request();
    if (command.verb !== "dump" || await watch.replies(DUMP_TIMEOUT_MS)) others.push(command);
    else if (command.id === undefined) logDump();
    else await store!.workers.send(command.id, standIn.dump().join("\n")).catch(() => {});
  }
  if (others.length > 0) scope.postMessage({ kind: "commands", commands: others });
}

/** The main thread prints the dump if its event loop turns. */
async function dumpIfBlocked(): Promise<void> {
  if (!await watch.replies(DUMP_TIMEOUT_MS)) logDump();
}

function logDump(): void {
  for (const line of standIn.dump()) standIn.warn(line);
}

function onBlocked(): void {
  const claimed = memory.claimAll();
  if (claimed.length > 0) void releaseAll(claimed.map(({ token }) => token));
  report.blocked(watch.silentMs ?? 0);
}

/** Returns jobs to the front of their queues. The last ones go first, so that the first ones end up before them. */
async function releaseAll(tokens: readonly string[]): Promise<void> {
  for (let to = tokens.length; to > 0; to -= MAX_CHUNK_JOBS) {
    const part = tokens.slice(Math.max(0, to - MAX_CHUNK_JOBS), to);
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
    requestedAt = undefined;
    onReport = undefined;
    waiting.abort();
  };
  await systemClock.sleep(REPLY_TIMEOUT_MS, waiting.signal);
  return systemClock.monotonic() - since;
}

/** Ends the process, whose event loop is blocked at the deadline of its stop. */
async function endProcess(): Promise<void> {
  await standIn.end(async () => {
    stopping.abort();
    // None of these starts any more, should the event loop turn now.
    memory.claimAll();
    if (running === undefined) return;
    await running;
    // The orderly stop has closed it, and may have been blocked before it deregistered.
    store ??= await open();
    await store.workers.deregister(known.id);
  });
}

async function end(): Promise<void> {
  stopping.abort();
  await running;
  await store?.[Symbol.asyncDispose]();
  store = undefined;
  scope.postMessage({ kind: "stopped" });
}
