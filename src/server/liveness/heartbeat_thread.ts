/**
 * The heartbeat's side in its thread, see `heartbeat.ts`. It sends the heartbeats, receives commands, and acts for the main thread
 * while a handler blocks the event loop (`loop_watch.ts`, `stop_guard.ts`, `stand_in.ts`).
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { StoreOptions } from "../../store/open.ts";
import { isGone } from "../../store/port/errors.ts";
import type { ServerStore } from "../../store/port/store.ts";
import type { Command, WorkerRecord } from "../../store/port/workers.ts";
import { CommandReceiver } from "../control/command_receiver.ts";
import { onRequests, type Verb } from "../control/signals.ts";
import { BoardReader } from "../control/task_board.ts";
import type { Moment } from "../work/lease_guard.ts";
import { UnstartedMemory } from "../work/unstarted_memory.ts";
import { BlockedReport } from "./blocked_report.ts";
import { type FromHeartbeat, type GuardOptions, retryMs, type ToHeartbeat } from "./heartbeat_messages.ts";
import { LoopWatch } from "./loop_watch.ts";
import { StandIn } from "./stand_in.ts";
import { StopGuard } from "./stop_guard.ts";

/** Wait for the main side's reply. */
const REPLY_TIMEOUT_MS = 200;
/** An event loop that doesn't reply for this long doesn't print a dump either. */
const DUMP_TIMEOUT_MS = 300;

/** Maximum number of jobs released in one step of the store. */
const MAX_CHUNK_JOBS = 1_000;
/** Pause between two attempts to release jobs, before jitter. */
const RETRY_MS = 500;

/** The first message. */
type Start = Extract<ToHeartbeat, { readonly kind: "start" }>;

/** The surroundings of the thread. */
export interface ThreadSurroundings {
  readonly clock: Clock;
  /** Sends a message to the main thread. */
  readonly post: (message: FromHeartbeat) => void;
  /** Opens another connection to the store. */
  readonly openStore: (url: string, options: StoreOptions) => Promise<ServerStore>;
}

export class HeartbeatThread {
  readonly #in: ThreadSurroundings;
  readonly #start: Start;
  /** Aborts when the heartbeats end. */
  readonly #stopping = new AbortController();
  /** Aborts when the thread does nothing any more. Only the end of the thread does that. */
  readonly #ended = new AbortController().signal;
  readonly #memory: UnstartedMemory;
  readonly #board: BoardReader;
  readonly #watch: LoopWatch;
  readonly #standIn: StandIn;
  readonly #report: BlockedReport;
  readonly #guard: StopGuard | undefined;
  /** Undefined until it is open. */
  #store: ServerStore | undefined;
  #known: WorkerRecord;
  #knownAt: Moment;
  #learntAt: number;
  #onReport: (() => void) | undefined;
  #requestedAt: number | undefined;
  #running: Promise<unknown> | undefined;
  #beatNow = new AbortController();

  constructor(surroundings: ThreadSurroundings, start: Start) {
    const { clock, post } = this.#in = surroundings;
    this.#start = start;
    [this.#known, this.#knownAt, this.#learntAt] = [start.record, start.at, clock.monotonic()];
    const memory = this.#memory = new UnstartedMemory(start.unstarted);
    const board = this.#board = new BoardReader(start.board);
    const watch = this.#watch = new LoopWatch({
      clock,
      signal: this.#ended,
      ping: () => post({ kind: "ping" }),
      rest: () => !board.isBusy && !memory.hasWaiting && memory.sleep(),
      onBlocked: () => this.#blocked(),
      onUnblocked: (ms) => this.#report.over(ms),
    });
    const mainTime = (): Moment => ({
      ...this.#knownAt,
      now: clock.now(),
      monotonic: this.#knownAt.monotonic + clock.monotonic() - this.#learntAt,
    });
    this.#standIn = new StandIn({ clock, board, watch, worker: this.#known.id, log: start.guard?.log, mainTime });
    this.#report = new BlockedReport({
      standIn: this.#standIn,
      beat: () => this.#beatNow.abort(),
      onOver: (ms, by) => post({ kind: "blocked", ms, by }),
    });
    this.#guard = start.guard && this.#startGuard(start.guard);
    void watch.watch();
    if (start.storeUrl !== undefined) this.#running = Promise.all([this.#sendHeartbeats(), this.#receiveCommands()]);
  }

  /** Receives a message of the main thread. */
  receive(message: Exclude<ToHeartbeat, Start>): void {
    switch (message.kind) {
      case "record":
        [this.#known, this.#knownAt, this.#learntAt] = [message.record, message.at, this.#in.clock.monotonic()];
        this.#onReport?.();
        break;
      case "word":
        this.#board.learn(message.word);
        break;
      case "watch":
        void this.#watch.watch();
        break;
      case "alive":
        this.#watch.replied();
        break;
      case "beat":
        this.#beatNow.abort();
        break;
      case "timeout":
        this.#guard?.setTimeout(message.ms);
        break;
      case "stop":
        void this.#end();
        break;
    }
  }

  #startGuard({ timeoutMs, parent, hadTerminal }: GuardOptions): StopGuard {
    const end = () => this.#endProcess();
    const guard = new StopGuard({ clock: this.#in.clock, signal: this.#ended, watch: this.#watch, timeoutMs, end });
    if (parent !== undefined) void guard.watchParent(parent);
    // The main thread listens as well, and acts on them when its event loop turns. It may take jobs in the same turn, before that.
    const acts: Readonly<Partial<Record<Verb, () => void>>> = {
      stop: () => guard.request(),
      dump: () => void this.#dumpIfBlocked(),
      quiet: () => this.#memory.askQuiet(true),
      resume: () => this.#memory.askQuiet(false),
    };
    onRequests(({ verb }) => acts[verb]?.(), hadTerminal);
    return guard;
  }

  async #open(): Promise<ServerStore> {
    return this.#store ??= await this.#in.openStore(this.#start.storeUrl!, this.#start.storeOptions);
  }

  async #sendHeartbeats(): Promise<void> {
    const { clock, post } = this.#in;
    const { intervalMs, ttlMs } = this.#start;
    const { signal } = this.#stopping;
    // At once, to notice a file that is replaced later. The first heartbeat reports an error.
    await this.#open().catch(() => {});
    for (let loopDelayMs = 0; !signal.aborted; loopDelayMs = await this.#requestReport()) {
      let pauseMs = intervalMs;
      try {
        const store = await this.#open();
        const sentAt = this.#knownAt;
        const record = this.#standIn.describe(this.#known);
        this.#report.sent(record.blocked !== undefined);
        const { commands, lapsed } = await store.workers.heartbeat(record, ttlMs);
        post({ kind: "beat", commands: [], lapsed, sentAt, loopDelayMs });
        await this.#accept(commands);
      } catch (error) {
        pauseMs = Math.min(retryMs(ttlMs), intervalMs);
        post({ kind: isGone(error) ? "gone" : "failed", error: (error as Error).message });
      }
      // A job may have started before the thread could know of it.
      if (this.#board.isBusy) void this.#watch.watch();
      await clock.sleep(pauseMs, AbortSignal.any([signal, this.#beatNow.signal]));
      if (this.#beatNow.signal.aborted) this.#beatNow = new AbortController();
    }
  }

  /** Receives commands here, because one that the main thread has received waits while its event loop is blocked. */
  async #receiveCommands(): Promise<void> {
    const { clock } = this.#in;
    const { signal } = this.#stopping;
    const accept = (commands: readonly Command[]) => this.#accept(commands);
    while (!signal.aborted) {
      const store = this.#store;
      if (store === undefined) await clock.sleep(RETRY_MS, signal);
      else await new CommandReceiver({ store, clock, worker: this.#known.id, accept }).run(signal);
    }
  }

  /** Acts on commands if the event loop is blocked, and passes them on. */
  async #accept(commands: readonly Command[]): Promise<void> {
    const others: Command[] = [];
    for (const command of commands) {
      if (command.verb === "beat") {
        this.#beatNow.abort();
        continue;
      }
      if (command.verb === "stop") this.#guard?.request();
      if (command.verb !== "dump" || await this.#watch.replies(DUMP_TIMEOUT_MS)) others.push(command);
      else if (command.id === undefined) this.#logDump();
      else await this.#store!.workers.send(command.id, this.#standIn.dump().join("\n")).catch(() => {});
    }
    if (others.length > 0) this.#in.post({ kind: "commands", commands: others });
  }

  /** The main thread prints the dump if its event loop turns. */
  async #dumpIfBlocked(): Promise<void> {
    if (!await this.#watch.replies(DUMP_TIMEOUT_MS)) this.#logDump();
  }

  #logDump(): void {
    for (const line of this.#standIn.dump()) this.#standIn.warn(line);
  }

  #blocked(): void {
    const claimed = this.#memory.claimAll();
    if (claimed.length > 0) void this.#releaseAll(claimed.map(({ token }) => token));
    this.#report.blocked(this.#watch.silentMs ?? 0);
  }

  /** Returns jobs to the front of their queues. The last ones go first, so that the first ones end up before them. */
  async #releaseAll(tokens: readonly string[]): Promise<void> {
    for (let to = tokens.length; to > 0; to -= MAX_CHUNK_JOBS) {
      const part = tokens.slice(Math.max(0, to - MAX_CHUNK_JOBS), to);
      const lost = await this.#release(part);
      if (lost === undefined) return;
      this.#in.post({ kind: "returned", tokens: part, lost });
    }
  }

  /** Retries until the store accepts it: nothing else releases these jobs before this worker deregisters. */
  async #release(tokens: readonly string[]): Promise<number | undefined> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        const outcomes = tokens.map((token) => ({ kind: "release" as const, token }));
        const result = await this.#store?.jobs.settle(this.#known.id, outcomes);
        if (result) return result.lost.length;
      } catch (error) {
        // The next heartbeat reports it.
        if (isGone(error)) return;
      }
      await this.#in.clock.sleep(RETRY_MS * (0.5 + Math.random()), signal);
    }
  }

  /** Requests a report of the main side. Returns how long the reply took, or has taken until now. */
  async #requestReport(): Promise<number> {
    const { clock, post } = this.#in;
    const now = clock.monotonic();
    if (this.#requestedAt === undefined) {
      this.#requestedAt = now;
      post({ kind: "report" });
    }
    const since = this.#requestedAt;
    const waiting = new AbortController();
    this.#onReport = () => {
      this.#requestedAt = undefined;
      this.#onReport = undefined;
      waiting.abort();
    };
    await clock.sleep(REPLY_TIMEOUT_MS, waiting.signal);
    return clock.monotonic() - since;
  }

  /** Ends the process, whose event loop is blocked at the deadline of its stop. */
  async #endProcess(): Promise<void> {
    await this.#standIn.end(async () => {
      this.#stopping.abort();
      // None of these starts any more, should the event loop turn now.
      this.#memory.claimAll();
      if (this.#running === undefined) return;
      await this.#running;
      // The orderly stop has closed it, and may have been blocked before it deregistered.
      const store = await this.#open();
      await store.workers.deregister(this.#known.id);
    });
  }

  async #end(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await this.#store?.[Symbol.asyncDispose]();
    this.#store = undefined;
    this.#in.post({ kind: "stopped" });
  }
}
