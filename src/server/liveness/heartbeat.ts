/**
 * The heartbeat: tells the store that this worker is alive, and what it is doing. A thread with a separate store connection sends
 * it, so that a handler that blocks the event loop doesn't take the worker offline.
 *
 *  1. Before each heartbeat the thread asks this side what the worker is doing. It doesn't wait for a late answer (the event loop
 *     is blocked), and sends the previous one. The delay is reported as the event-loop delay.
 *  2. Only this process can open `sqlite::memory:`: then this side sends the heartbeats, and receives commands. So it does for a
 *     guest (`launcher_options.ts`), whose program says when.
 *  3. The thread receives commands. Sidekiq's list of signals is read with the heartbeat as well.
 *  4. While a handler blocks the event loop, the thread acts in place of this side: `loop_watch.ts`, `stand_in.ts`. In a process of
 *     `jobs run` it also keeps the deadline of a stop (`stop_guard.ts`).
 *
 * If the process dies, its heartbeat expires, and its jobs are rescued.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { checkDescriptors } from "../../handlers/isolation/spawn_self.ts";
import type { Log } from "../../log/log.ts";
import type { StoreOptions } from "../../store/open.ts";
import { StoreError } from "../../store/port/errors.ts";
import type { ServerStore } from "../../store/port/store.ts";
import type { Command, HeartbeatReply, WorkerRecord } from "../../store/port/workers.ts";
import type { Component, ShutdownBudget } from "../component.ts";
import { CommandReceiver } from "../control/command_receiver.ts";
import type { TaskBoard } from "../control/task_board.ts";
import type { Tasks } from "../control/tasks.ts";
import { HeartbeatLog, type OutageLog } from "../outage_log.ts";
import { type Moment, momentOf } from "../work/lease_guard.ts";
import type { UnstartedJobs } from "../work/unstarted.ts";
import { type FromHeartbeat, type GuardOptions, retryMs, type ToHeartbeat } from "./heartbeat_messages.ts";

/** On SQLite, a command arrives at most this late. */
const COMMAND_POLL_MS = 250;

export interface HeartbeatOptions {
  readonly store: ServerStore;
  /** The address with its password, for the thread's connection. */
  readonly storeUrl: string;
  readonly storeOptions: StoreOptions;
  readonly describe: () => WorkerRecord;
  /** The jobs that have not started, which the thread gives back while the event loop is blocked. */
  readonly unstarted: UnstartedJobs;
  /** Stops the worker: the store is gone. */
  readonly onGone: (error: StoreError) => void;
  readonly outage: OutageLog;
  readonly intervalMs: number;
  readonly ttlMs: number;
  /** Shared with the thread. */
  readonly board: TaskBoard;
  /** Lets the thread end the process; absent in a program that embeds the worker. */
  readonly guard?: GuardOptions | undefined;
  /** Heartbeats are sent only by {@linkcode Heartbeat.step}, and commands collected by {@linkcode Heartbeat.receive}. */
  readonly isDriven: boolean;
  /** Starts the thread. */
  readonly startThread: () => Promise<Thread>;
  readonly clock: Clock;
  readonly tasks: Tasks;
  readonly log: Log;
}

/** A component that reacts to heartbeats. */
export interface HeartbeatListener {
  /** Called after each heartbeat that the store has accepted. `sentAt` is when it was sent, or earlier. */
  beat?(beat: Pick<HeartbeatReply, "lapsed"> & { readonly sentAt: Moment }): void;
  /** Called with commands to this worker. */
  commands?(commands: readonly Command[]): void;
  /** Called when the thread has given jobs back. */
  returned?(tokens: readonly string[]): void;
  /** Called when the thread has failed: it may have given these jobs back. */
  unsure?(tokens: readonly string[]): void;
}

/** The thread, as this side sees it. */
export type Thread = Pick<Worker, "postMessage" | "terminate" | "onmessage" | "onerror">;

/**
 * Starts the thread.
 *
 * @throws {SpawnError} without free file descriptors: creating a `Worker` would end the process
 */
export async function startThread(): Promise<Thread> {
  await checkDescriptors();
  const url = new URL("./heartbeat_worker.ts", import.meta.url);
  return new Worker(url.href, { type: "module", name: "heartbeat" });
}

type Beats = Pick<HeartbeatOptions, "storeUrl" | "isDriven" | "guard">;

/** Whether a worker has a thread, be it only to end the process. */
export function hasThread(options: Beats): boolean {
  return !isInline(options) || options.guard !== undefined;
}

/** Whether this side sends the heartbeats. */
function isInline({ storeUrl, isDriven }: Beats): boolean {
  return isDriven || storeUrl.startsWith("sqlite::memory:");
}

/** Time until another thread is started, after one has failed or could not be started. */
const THREAD_RETRY_MS = 1_000;

export class Heartbeat implements Component {
  readonly name = "heartbeat";
  readonly #options: HeartbeatOptions;
  readonly #listeners: HeartbeatListener[] = [];
  #thread: Thread | undefined;
  /** The thread while it ends. */
  #stopping: Thread | undefined;
  #stopped: (() => void) | undefined;
  #loopDelayMs = 0;
  #isDeregistered = false;
  #isForgotten = false;
  readonly #reports: HeartbeatLog;
  readonly #stop = new AbortController();
  /** Resolves with the thread's first heartbeat that the store has accepted. */
  readonly #threadBeats = Promise.withResolvers<void>();
  #inline: Promise<unknown> | undefined;
  /** The last heartbeat that this side has sent. */
  #sent: Promise<unknown> | undefined;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#reports = new HeartbeatLog({ name: this.name, log: options.log, outage: options.outage });
  }

  /** Adds a listener, before the start. Listeners are called in the order in which they were added. */
  listen(listener: HeartbeatListener): void {
    this.#listeners.push(listener);
  }

  /** How long the event loop delayed its last answer to the thread, in milliseconds. */
  get loopDelayMs(): number {
    return this.#loopDelayMs;
  }

  /** Whether the store has confirmed that the worker has deregistered. */
  get isDeregistered(): boolean {
    return this.#isDeregistered;
  }

  /**
   * Registers the worker with a first heartbeat, and resolves with the first one of the thread. On a busy machine the thread may
   * start more slowly than a heartbeat expires: jobs taken before would be given to others.
   */
  async start(): Promise<void> {
    await this.step();
    // Stopped during the first heartbeat: another one would register the worker again.
    if (this.#stop.signal.aborted) return;
    const task = this.#options.tasks.add(this.name);
    const isHere = isInline(this.#options);
    if (isHere) {
      const { tasks, isDriven } = this.#options;
      const running = isDriven ? [] : [this.#beatHere(), this.#receiveHere()];
      this.#inline = Promise.all(running).finally(() => tasks.remove(task));
    }
    if (hasThread(this.#options)) await this.#startThread();
    if (!isHere) await this.#threadBeats.promise;
    task.enter("beating");
  }

  /** Sends one heartbeat from this side. Once it stops, none: it would register the worker again. */
  async step(): Promise<void> {
    const { store, describe, ttlMs, clock } = this.#options;
    if (this.#stop.signal.aborted) return;
    const sentAt = momentOf(clock);
    const sent = store.workers.heartbeat(describe(), ttlMs);
    this.#sent = sent;
    const beat = await sent;
    this.#options.outage.beat();
    if (beat.commands.length > 0) this.#accept(beat.commands);
    for (const one of this.#listeners) one.beat?.({ ...beat, sentAt });
  }

  /** Collects commands, for a worker that is driven. */
  async receive(): Promise<void> {
    const { store, describe } = this.#options;
    const texts = await store.workers.collect({ commandsTo: describe().id });
    if (texts.length > 0) this.#accept(texts.map((text) => JSON.parse(text) as Command));
  }

  /** Leaves the worker's registration to expire: its leases are rescued then. */
  forget(): void {
    this.#isForgotten = true;
  }

  /** Ends beating, and deregisters the worker: the store gives back the jobs that it still has. */
  async stop(budget: ShutdownBudget): Promise<void> {
    const { store, describe } = this.#options;
    if (!await budget.within(this.#end())) this.#terminate();
    this.#isDeregistered = this.#isForgotten || await budget.within(store.workers.deregister(describe().id));
    // Until here the thread keeps the deadline of the stop.
    this.#terminate();
  }

  /** Sets how long a stop waits for running jobs. */
  setShutdownTimeout(ms: number): void {
    this.#thread?.postMessage({ kind: "timeout", ms } satisfies ToHeartbeat);
  }

  /** Lets the thread send the next heartbeat at once: the worker has become quiet, or has resumed. */
  beatSoon(): void {
    this.#thread?.postMessage({ kind: "beat" } satisfies ToHeartbeat);
  }

  async #end(): Promise<void> {
    this.#stop.abort();
    await Promise.allSettled([this.#inline, this.#sent]);
    const thread = this.#stopping = this.#thread;
    if (!thread) return;
    this.#thread = undefined;
    this.#options.unstarted.detach();
    await new Promise<void>((resolve) => {
      this.#stopped = resolve;
      thread.postMessage({ kind: "stop" } satisfies ToHeartbeat);
    });
  }

  #terminate(): void {
    this.#stopping?.terminate();
    this.#stopping = undefined;
  }

  /** Starts the thread. While that is impossible this side sends the heartbeats. */
  async #startThread(): Promise<void> {
    const { startThread, clock, log } = this.#options;
    const { signal } = this.#stop;
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        const thread = await startThread();
        if (signal.aborted) thread.terminate();
        else this.#use(thread);
        return;
      } catch (error) {
        if (failures === 0) {
          log.error("Can't start the heartbeat thread, retrying", { error: (error as Error).message });
        }
      }
      await clock.sleep(THREAD_RETRY_MS, signal);
      if (!signal.aborted) await this.step().catch((error) => log.warn("Heartbeat failed", { error: error.message }));
    }
  }

  #use(thread: Thread): void {
    const { storeUrl, storeOptions, intervalMs, ttlMs, guard, board, describe, log, clock } = this.#options;
    const { unstarted } = this.#options;
    thread.onmessage = (event: MessageEvent<FromHeartbeat>) => this.#receive(thread, event.data);
    thread.onerror = (event) => {
      // Without this the Worker's error would end the whole process.
      event.preventDefault();
      log.error("Heartbeat thread failed, starting another", { error: event.message });
      thread.terminate();
      this.#stopped?.();
      if (this.#thread !== thread) return;
      this.#thread = undefined;
      const unsure = unstarted.detach();
      for (const one of this.#listeners) one.unsure?.(unsure);
      void clock.sleep(THREAD_RETRY_MS, this.#stop.signal).then(() => this.#startThread());
    };
    this.#thread = thread;
    const { clock: _clock, log: _log, ...options } = storeOptions;
    thread.postMessage(
      {
        kind: "start",
        storeUrl: isInline(this.#options) ? undefined : storeUrl,
        storeOptions: { ...options, maxBackoffMs: retryMs(ttlMs), pollMs: COMMAND_POLL_MS },
        record: describe(),
        at: momentOf(clock),
        unstarted: unstarted.attach(() => thread.postMessage({ kind: "watch" } satisfies ToHeartbeat)),
        board: board.buffer,
        intervalMs,
        ttlMs,
        guard,
      } satisfies ToHeartbeat,
    );
    board.attach((word) => thread.postMessage({ kind: "word", word } satisfies ToHeartbeat));
  }

  #receive(thread: Thread, message: FromHeartbeat): void {
    const { log, onGone, describe, clock } = this.#options;
    switch (message.kind) {
      case "ping":
        thread.postMessage({ kind: "alive" } satisfies ToHeartbeat);
        break;
      case "returned":
        log.info("Gave back jobs that had not started: the event loop was blocked", {
          count: message.tokens.length - message.lost,
        });
        for (const one of this.#listeners) one.returned?.(message.tokens);
        break;
      case "report":
        thread.postMessage(
          { kind: "record", at: momentOf(clock), record: describe() } satisfies ToHeartbeat,
        );
        break;
      case "beat":
        this.#threadBeats.resolve();
        this.#loopDelayMs = Math.round(message.loopDelayMs);
        this.#reports.reached();
        for (const one of this.#listeners) one.beat?.(message);
        break;
      case "commands":
        this.#accept(message.commands);
        break;
      case "blocked": {
        const { class: name, jid, task } = message.by ?? {};
        const fields = { blockedMs: Math.round(message.ms), class: name, jid, processor: task };
        log.warn("Event loop was blocked: a handler did not yield", fields);
        break;
      }
      case "gone":
        onGone(new StoreError("gone", message.error));
        break;
      case "failed":
        this.#reports.failed(message.error);
        break;
      case "stopped":
        this.#stopped?.();
        break;
    }
  }

  #receiveHere(): Promise<void> {
    const { store, clock, describe } = this.#options;
    const accept = (commands: readonly Command[]) => this.#accept(commands);
    return new CommandReceiver({ store, clock, worker: describe().id, accept }).run(this.#stop.signal);
  }

  #accept(commands: readonly Command[]): void {
    for (const one of this.#listeners) one.commands?.(commands);
  }

  async #beatHere(): Promise<void> {
    const { clock, intervalMs, ttlMs, log } = this.#options;
    const { signal } = this.#stop;
    for (let failures = 0;;) {
      await clock.sleep(failures > 0 ? Math.min(retryMs(ttlMs), intervalMs) : intervalMs, signal);
      if (signal.aborted) return;
      try {
        await this.step();
        failures = 0;
      } catch (error) {
        if (failures++ === 0) log.warn("Heartbeat failed", { error: (error as Error).message });
      }
    }
  }
}
