/**
 * The horses: a pool of child processes that perform jobs away from the main one. A handler that never yields, crashes
 * or eats all memory then harms its own job only, and can be killed.
 *
 *  1. A horse is started when a job needs one and none is free, so there are never more than processors; the one used
 *     last is used first.
 *  2. One that has performed so many jobs, or grown over the limit, is replaced. One that grows over it while it performs
 *     is killed, and its job fails.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import { formatBytes } from "../job/bytes.ts";
import type { Log } from "../log.ts";
import { acceptAll } from "./accept.ts";
import type { JobContext } from "./context.ts";
import { type ParentStore, readToken } from "./frames.ts";
import { Horse } from "./horse.ts";
import { memoryOf } from "./process_group.ts";
import { ProcessLost } from "./remote_error.ts";

/** What the pool is made with. */
export interface HorsesOptions {
  /** Modules with the handlers. */
  readonly modules: readonly string[];
  /** For what handlers push. */
  readonly store: ParentStore;
  /** An aborted job has so long to end before its horse is killed. */
  readonly graceMs: number;
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
const LOOK_MS = 100;

/** The pool. */
export class Horses {
  readonly #options: HorsesOptions;
  readonly #address = `\0jobs-${crypto.randomUUID()}`;
  /** All that run, by token. */
  readonly #horses = new Map<string, Horse>();
  #idle: Horse[] = [];
  #listener: Deno.Listener | undefined;
  readonly #stop = new AbortController();
  /** Those that have done their share. */
  readonly #retired = new WeakSet<Horse>();
  #started = 0;
  #renewed = 0;
  #killed = 0;

  constructor(options: HorsesOptions) {
    this.#options = options;
  }

  /** The process numbers of those that run. */
  get pids(): number[] {
    return [...this.#horses.values()].map((horse) => horse.pid);
  }

  /** How many there are, and were. */
  get counts(): HorseCounts {
    return { running: this.#horses.size, started: this.#started, renewed: this.#renewed, killed: this.#killed };
  }

  /** Starts the first horse, so that the first job need not wait for it. */
  start(): void {
    // A name in Linux's abstract space: no file is left behind, however we end. The token proves who connects.
    const listener = this.#listener = Deno.listen({ transport: "unix", path: this.#address });
    void acceptAll(listener, (socket) => void this.#greet(socket), { ...this.#options, signal: this.#stop.signal });
    if (this.#options.maxMemoryBytes > 0) void this.#watchMemory();
    this.#idle.push(this.#startHorse());
  }

  /**
   * Performs a job in a horse; resolves with its result.
   *
   * @throws what the handler threw, or {@linkcode ProcessLost}
   */
  async perform(job: JobContext): Promise<unknown> {
    const horse = this.#take();
    try {
      return await horse.perform(job);
    } finally {
      this.#giveBack(horse);
    }
  }

  /** Ends all horses. Their jobs have ended, or were given back. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#listener?.close();
    this.#listener = undefined;
    const horses = [...this.#horses.values()];
    for (const horse of horses) void horse.retire(new ProcessLost("Stopped", "The server stopped"));
    await Promise.all(horses.map((horse) => horse.gone));
  }

  #take(): Horse {
    for (let horse = this.#idle.pop(); horse; horse = this.#idle.pop()) if (horse.alive) return horse;
    return this.#startHorse();
  }

  #giveBack(horse: Horse): void {
    if (!horse.alive || this.#stop.signal.aborted) return;
    const { maxJobs } = this.#options;
    if (maxJobs > 0 && horse.performed >= maxJobs) this.#retired.add(horse);
    if (this.#retired.has(horse)) return void horse.retire(undefined);
    this.#idle.push(horse);
  }

  #startHorse(): Horse {
    const token = crypto.randomUUID();
    const { log } = this.#options;
    const horse = new Horse({ ...this.#options, address: this.#address, token });
    this.#started++;
    log.debug("Horse started", { pid: horse.pid });
    this.#horses.set(token, horse);
    void horse.gone.then(() => {
      this.#horses.delete(token);
      if (this.#retired.has(horse)) this.#renewed++;
      else if (!this.#stop.signal.aborted) this.#killed++;
      log.debug("Horse ended", { pid: horse.pid });
    });
    return horse;
  }

  /** What comes first says which horse it is. */
  async #greet(socket: Deno.Conn): Promise<void> {
    const horse = this.#horses.get(await readToken(socket));
    if (horse === undefined) socket.close();
    else horse.connected(socket);
  }

  async #watchMemory(): Promise<void> {
    const { clock, maxMemoryBytes } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await clock.sleep(LOOK_MS, signal);
      for (const horse of this.#horses.values()) {
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
