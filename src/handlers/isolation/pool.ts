/**
 * The pool of horses: child processes that perform jobs outside the worker process. A handler that never yields, crashes or
 * uses all memory then affects only its job, and can be killed.
 *
 *  1. A horse is started when a job needs one and none is idle. There are never more horses than processors. The horse that
 *     was used last is used first.
 *  2. A horse is replaced after {@linkcode HorsePoolOptions.maxJobs} jobs. A horse that exceeds the memory limit is killed,
 *     and its job fails.
 *  3. If a horse dies before it has read a job that was given to it, the job goes to another horse.
 *  4. While the machine lacks file descriptors, processes or memory to start a horse, jobs wait.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { formatBytes } from "../../job/bytes.ts";
import type { Log } from "../../log/log.ts";
import type { JobContext } from "../context.ts";
import type { ParentStore } from "./ipc.ts";
import { Horse, NeverStarted } from "./horse.ts";
import { type HorseProcesses, horseProcesses } from "./horse_process.ts";
import { memoryOf } from "./process_group.ts";
import { ProcessLost } from "./remote_error.ts";
import { SpawnError } from "./spawn_self.ts";

export interface HorsePoolOptions {
  /** The modules with the handlers. */
  readonly modules: readonly string[];
  /** The store for the clients of handlers. */
  readonly store: ParentStore;
  /** An aborted job has this long to end before its horse is killed. */
  readonly killAfterMs: number;
  /** A horse that uses more memory is killed; 0 for no limit. */
  readonly maxMemoryBytes: number;
  /** A horse is replaced after this many jobs; 0 for never. */
  readonly maxJobs: number;
  /** Aborts a job that this worker has lost while it waited for its process. */
  readonly recheck?: (signal: AbortSignal) => Promise<void>;
  /** Starts their processes. Default: those of this program. */
  readonly processes?: HorseProcesses | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

export interface HorseCounts {
  /** Horses that run now. */
  readonly running: number;
  /** Horses that were started. */
  readonly started: number;
  /** Horses that were replaced after {@linkcode HorsePoolOptions.maxJobs} jobs. */
  readonly renewed: number;
  /** Horses that were killed, for the time or memory of their jobs, or crashed. */
  readonly killed: number;
}

/** The memory of horses is checked at this interval if it is limited. */
const MEMORY_INTERVAL_MS = 100;
/** Time between two attempts to start a horse while the machine lacks resources. */
const RESTART_INTERVAL_MS = 500;

/** A job fails if this many horses in a row ended before they received it. */
const MAX_HORSES_PER_JOB = 3;

export class HorsePool {
  readonly #options: HorsePoolOptions;
  readonly #processes: HorseProcesses;
  /** All running horses. */
  readonly #horses = new Set<Horse>();
  #idle: Horse[] = [];
  /** Whether the last attempt to start a horse failed because the machine temporarily lacked resources. */
  #isShort = false;
  readonly #stop = new AbortController();
  /** Horses that are being replaced. */
  readonly #retired = new WeakSet<Horse>();
  #started = 0;
  #renewed = 0;
  #killed = 0;

  constructor(options: HorsePoolOptions) {
    this.#options = options;
    this.#processes = options.processes ?? horseProcesses(options);
  }

  /** The process IDs of the running horses. */
  get pids(): number[] {
    return [...this.#horses].map((horse) => horse.pid);
  }

  get counts(): HorseCounts {
    return { running: this.#horses.size, started: this.#started, renewed: this.#renewed, killed: this.#killed };
  }

  /**
   * Starts the first horse, so that the first job doesn't wait for it.
   *
   * @throws {SpawnError} if starting a horse fails permanently
   */
  async start(): Promise<void> {
    if (this.#options.maxMemoryBytes > 0) void this.#watchMemory();
    const first = await this.#tryHorse();
    if (first) this.#idle.push(first);
  }

  /**
   * Performs a job in a horse. Resolves with its result.
   *
   * @throws the error of the handler, {@linkcode ProcessLost}, or {@linkcode SpawnError}
   */
  async perform(job: JobContext): Promise<unknown> {
    for (let attempt = 1;; attempt++) {
      const horse = await this.#take(job.signal);
      try {
        return await horse.perform(job);
      } catch (error) {
        if (!(error instanceof NeverStarted)) throw error;
        if (attempt === MAX_HORSES_PER_JOB) throw error.cause;
      } finally {
        this.#returnHorse(horse);
      }
    }
  }

  /** Ends all horses. Their jobs have ended, or have been returned to their queues. */
  async stop(): Promise<void> {
    this.#stop.abort();
    const horses = [...this.#horses];
    for (const horse of horses) void horse.retire(stopped());
    await Promise.all(horses.map((horse) => horse.gone));
  }

  /** Returns an idle horse, or a new one. Waits while none can be started. */
  async #take(signal: AbortSignal): Promise<Horse> {
    for (;;) {
      signal.throwIfAborted();
      if (this.#stop.signal.aborted) throw stopped();
      for (let horse = this.#idle.pop(); horse; horse = this.#idle.pop()) if (horse.alive) return horse;
      const started = await this.#tryHorse();
      if (started) return started;
      await this.#options.clock.sleep(RESTART_INTERVAL_MS, AbortSignal.any([signal, this.#stop.signal]));
    }
  }

  #returnHorse(horse: Horse): void {
    if (!horse.alive || this.#stop.signal.aborted) return;
    const { maxJobs } = this.#options;
    if (maxJobs > 0 && horse.performed >= maxJobs) this.#retired.add(horse);
    if (this.#retired.has(horse)) return void horse.retire(undefined);
    this.#idle.push(horse);
  }

  /** Starts a horse; undefined if the machine temporarily lacks resources, or the pool has been stopped. */
  async #tryHorse(): Promise<Horse | undefined> {
    const { log } = this.#options;
    try {
      await this.#processes.check();
      if (this.#stop.signal.aborted) return undefined;
      const horse = this.#startHorse();
      if (this.#isShort) log.info("Isolated processes can be started again");
      this.#isShort = false;
      return horse;
    } catch (error) {
      if (!(error instanceof SpawnError && error.transient)) throw error;
      if (!this.#isShort) log.error("Can't start an isolated process, retrying", { error: error.message });
      this.#isShort = true;
      return undefined;
    }
  }

  #startHorse(): Horse {
    const { log } = this.#options;
    const horse = new Horse({ ...this.#options, process: this.#processes.start() });
    this.#started++;
    log.debug("Horse started", { pid: horse.pid });
    this.#horses.add(horse);
    void horse.gone.then(() => {
      this.#horses.delete(horse);
      if (this.#retired.has(horse)) this.#renewed++;
      else if (!this.#stop.signal.aborted) this.#killed++;
      log.debug("Horse ended", { pid: horse.pid });
    });
    return horse;
  }

  async #watchMemory(): Promise<void> {
    const { clock, maxMemoryBytes } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await clock.sleep(MEMORY_INTERVAL_MS, signal);
      for (const horse of this.#horses) {
        const used = await memoryOf(horse.pid);
        if (used <= maxMemoryBytes || !horse.alive) continue;
        this.#options.log.warn("Horse used too much memory, killed", { pid: horse.pid, used: formatBytes(used) });
        horse.kill(
          new ProcessLost(
            "OutOfMemory",
            `The process that performed it used ${formatBytes(used)} of memory; the limit is ${
              formatBytes(maxMemoryBytes)
            }`,
          ),
        );
      }
    }
  }
}

function stopped(): ProcessLost {
  return new ProcessLost("Stopped", "The worker stopped");
}
