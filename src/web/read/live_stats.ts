/**
 * The feed: the counts of everything, read again and again, for the chart and for all who watch. One reading serves them
 * all, however many there are; while nobody watches it is rare.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { Log } from "../../log/log.ts";
import type { AdminStore, Stats } from "../../store/admin/admin.ts";
import type { QueueSampler } from "../../store/admin/queue_samples.ts";
import { ALL_QUEUES } from "../../store/port/paused_queues.ts";
import { countsOf } from "./counts.ts";

/** The totals at one moment: two of them give a rate. */
export interface Sample {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly processed: number;
  readonly failed: number;
  /** Jobs that waited for a retry. */
  readonly retrying: number;
}

export const WATCHED_MS = 2_000;
const UNWATCHED_MS = 15_000;
const MINUTE_MS = 60_000;
/** Ten minutes of samples, when watched. */
const MAX_SAMPLES = 300;
const MAX_WATCHERS = 200;
/** Of these, so many from one address: an office may share one. */
const MAX_OF_ONE = 50;

/** What it reads and records. */
export interface LiveStatsStore {
  readonly admin: Pick<AdminStore, "stats">;
  readonly queueSamples: Pick<QueueSampler, "record">;
}

/** Reads the counts, and tells those who watch. */
export class LiveStats {
  readonly #store: LiveStatsStore;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #watchers = new Set<(stats: Stats, sample: Sample) => void>();
  readonly #enders = new Set<() => void>();
  /** How many watch from an address. */
  readonly #from = new Map<string, number>();
  readonly #end = new AbortController();
  #samples: readonly Sample[] = [];
  #wake = new AbortController();
  #looping: Promise<void> | undefined;
  /** The minute whose sample of the queues was recorded, since the epoch. */
  #recordedMinute = -1;

  /** Reads from this store. */
  constructor(store: LiveStatsStore, clock: Clock, log: Log) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
  }

  /** The latest samples, oldest first. */
  get samples(): readonly Sample[] {
    return this.#samples;
  }

  /** Begins to read. */
  start(): void {
    this.#looping ??= this.#loop();
  }

  /** Reads once, and tells everybody. */
  async step(): Promise<void> {
    const stats = await this.#store.admin.stats();
    const sample = { at: this.#clock.now(), processed: stats.processed, failed: stats.failed, retrying: stats.retry };
    this.#samples = [...this.#samples.slice(1 - MAX_SAMPLES), sample];
    for (const tell of this.#watchers) tell(stats, sample);
    await this.#recordQueues(stats.queues, sample.at);
  }

  /** Records the queues once a minute: for the charts. */
  async #recordQueues(queues: Stats["queues"], now: number): Promise<void> {
    const minute = Math.floor(now / MINUTE_MS);
    if (minute === this.#recordedMinute) return;
    this.#recordedMinute = minute;
    const named = queues.filter(({ name }) => name !== ALL_QUEUES);
    await this.#store.queueSamples.record(
      named.map(({ name, size, latencyMs }) => ({ queue: name, size, latencyMs })),
    );
  }

  /**
   * A stream of server-sent events, until its reader goes or the feed ends.
   *
   * @param address whose it is
   * @throws {RangeError} when too many watch
   */
  watch(address: string): ReadableStream<Uint8Array> {
    const others = this.#from.get(address) ?? 0;
    if (this.#watchers.size >= MAX_WATCHERS) throw new RangeError("Too many watch already");
    if (others >= MAX_OF_ONE) throw new RangeError(`${others} watch from ${address} already`);
    this.#from.set(address, others + 1);
    const encoder = new TextEncoder();
    let stop = () => {};
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        const tell = (stats: Stats, sample: Sample) => {
          // One who does not read does not fill our memory: it misses some.
          if ((controller.desiredSize ?? 0) < -20) return;
          const data = JSON.stringify({ ...countsOf(stats), at: sample.at });
          controller.enqueue(encoder.encode(`event: stats\ndata: ${data}\n\n`));
        };
        const end = () => {
          stop();
          controller.close();
        };
        stop = () => {
          if (!this.#watchers.delete(tell)) return;
          this.#enders.delete(end);
          this.#leave(address);
        };
        controller.enqueue(encoder.encode("retry: 3000\n\n"));
        this.#watchers.add(tell);
        this.#enders.add(end);
        this.#wake.abort();
      },
      cancel: () => stop(),
    });
  }

  /** Ends reading, and all streams. */
  async close(): Promise<void> {
    this.#end.abort();
    for (const end of [...this.#enders]) end();
    await this.#looping;
  }

  #leave(address: string): void {
    const left = this.#from.get(address)! - 1;
    if (left > 0) this.#from.set(address, left);
    else this.#from.delete(address);
  }

  async #loop(): Promise<void> {
    while (!this.#end.signal.aborted) {
      try {
        await this.step();
      } catch (error) {
        this.#log.warn("Counts could not be read", { error: (error as Error).message });
      }
      const watched = this.#watchers.size > 0;
      this.#wake = new AbortController();
      const signal = watched ? this.#end.signal : AbortSignal.any([this.#end.signal, this.#wake.signal]);
      await this.#clock.sleep(watched ? WATCHED_MS : UNWATCHED_MS, signal);
    }
  }
}
