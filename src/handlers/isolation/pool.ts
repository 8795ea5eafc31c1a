/**
 * The horses: a pool of child processes that perform jobs away from the main one. A handler that never yields, crashes
 * or eats all memory then harms its own job only, and can be killed.
 *
 *  1. A horse is started when a job needs one and none is free, so there are never more than processors; the one used
 *     last is used first.
 *  2. One that has performed so many jobs, or grown over the limit, is replaced. One that grows over it while it performs
 *     is killed, and its job fails.
 *  3. A job that is given to a horse which died unnoticed while it was idle goes to another.
 *  4. While the machine has too few file descriptors, processes or memory to start one, jobs wait for it.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { formatBytes } from "../../job/bytes.ts";
import type { Log } from "../../log/log.ts";
import { ChildListener } from "./child_listener.ts";
import type { JobContext } from "../context.ts";
import type { ParentStore } from "./ipc.ts";
import { Horse, NeverStarted } from "./horse.ts";
import { memoryOf } from "./process_group.ts";
import { ProcessLost } from "./remote_error.ts";
import { checkDescriptors, SpawnError } from "./spawn_self.ts";

/** What the pool is made with. */
export interface HorsePoolOptions {
  /** Modules with the handlers. */
  readonly modules: readonly string[];
  /** For what handlers push. */
  readonly store: ParentStore;
  /** An aborted job has so long to end before its horse is killed. */
  readonly killAfterMs: number;
  /** A horse that uses more memory is killed; 0 for no limit. */
  readonly maxMemoryBytes: number;
  /** A horse that has performed so many jobs is replaced; 0 for never. */
  readonly maxJobs: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** How many horses there are, and were. */
export interface HorseCounts {
  /** That run. */
  readonly running: number;
  /** Started in all. */
  readonly started: number;
  /** Replaced because they had performed as many jobs as a horse performs. */
  readonly renewed: number;
  /** Killed for the time or memory that their jobs took, or crashed. */
  readonly killed: number;
}

/** How often memory is looked at while there is a limit. */
const POLL_INTERVAL_MS = 100;
/** Time between two attempts to start a horse while the machine lacks what that takes. */
const RESTART_INTERVAL_MS = 500;

/** A job that no horse has received, because each ended before, fails with the last of so many. */
const MAX_HORSES_PER_JOB = 3;

/** The pool. */
export class HorsePool {
  readonly #options: HorsePoolOptions;
  readonly #listener: ChildListener;
  /** All that run. */
  readonly #horses = new Set<Horse>();
  #idle: Horse[] = [];
  /** Whether the last attempt to start one failed because the machine lacked something for a while. */
  #short = false;
  readonly #stop = new AbortController();
  /** Those that have done their share. */
  readonly #retired = new WeakSet<Horse>();
  #started = 0;
  #renewed = 0;
  #killed = 0;

  constructor(options: HorsePoolOptions) {
    this.#options = options;
    this.#listener = new ChildListener(options);
  }

  /** The process numbers of those that run. */
  get pids(): number[] {
    return [...this.#horses].map((horse) => horse.pid);
  }

  /** How many there are, and were. */
  get counts(): HorseCounts {
    return { running: this.#horses.size, started: this.#started, renewed: this.#renewed, killed: this.#killed };
  }

  /**
   * Starts the first horse, so that the first job need not wait for it.
   *
   * @throws {SpawnError} when no horse can ever be started
   */
  async start(): Promise<void> {
    if (this.#options.maxMemoryBytes > 0) void this.#watchMemory();
    const first = await this.#tryHorse();
    if (first) this.#idle.push(first);
  }

  /**
   * Performs a job in a horse; resolves with its result.
   *
   * @throws what the handler threw, {@linkcode ProcessLost}, or {@linkcode SpawnError}
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
        this.#giveBack(horse);
      }
    }
  }

  /** Ends all horses. Their jobs have ended, or were given back. */
  async stop(): Promise<void> {
    this.#stop.abort();
    const horses = [...this.#horses];
    for (const horse of horses) void horse.retire(new ProcessLost("Stopped", "The server stopped"));
    await Promise.all(horses.map((horse) => horse.gone));
  }

  /** A free horse, or a new one; waits while none can be started. */
  async #take(signal: AbortSignal): Promise<Horse> {
    for (;;) {
      signal.throwIfAborted();
      for (let horse = this.#idle.pop(); horse; horse = this.#idle.pop()) if (horse.alive) return horse;
      const started = await this.#tryHorse();
      if (started) return started;
      await this.#options.clock.sleep(RESTART_INTERVAL_MS, signal);
    }
  }

  #giveBack(horse: Horse): void {
    if (!horse.alive || this.#stop.signal.aborted) return;
    const { maxJobs } = this.#options;
    if (maxJobs > 0 && horse.performed >= maxJobs) this.#retired.add(horse);
    if (this.#retired.has(horse)) return void horse.retire(undefined);
    this.#idle.push(horse);
  }

  /** Starts a horse; undefined while the machine lacks what that takes. */
  async #tryHorse(): Promise<Horse | undefined> {
    const { log } = this.#options;
    try {
      await checkDescriptors();
      const horse = this.#startHorse();
      if (this.#short) log.info("Isolated processes can be started again");
      this.#short = false;
      return horse;
    } catch (error) {
      if (!(error instanceof SpawnError && error.transient)) throw error;
      if (!this.#short) log.error("Can't start an isolated process, trying again", { error: error.message });
      this.#short = true;
      return undefined;
    }
  }

  #startHorse(): Horse {
    const { log } = this.#options;
    const expected = this.#listener.expect();
    let horse: Horse;
    try {
      horse = new Horse({ ...this.#options, expected });
    } catch (error) {
      expected.cancel();
      throw error;
    }
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
      await clock.sleep(POLL_INTERVAL_MS, signal);
      for (const horse of this.#horses) {
        const used = await memoryOf(horse.pid);
        if (used <= maxMemoryBytes || !horse.alive) continue;
        this.#options.log.warn("Horse used too much memory, killed", { pid: horse.pid, used: formatBytes(used) });
        horse.kill(
          new ProcessLost(
            "OutOfMemory",
            `The process that performed it used ${formatBytes(used)} of memory; allowed: ${
              formatBytes(maxMemoryBytes)
            }`,
          ),
        );
      }
    }
  }
}
