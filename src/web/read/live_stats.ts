/**
 * Reads all counts periodically, for charts and for the live updates of pages. One reading serves all watching pages. The
 * interval is longer while no page watches.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { Log } from "../../log/log.ts";
import type { Sample } from "../../operator/alerts/alert.ts";
import { sampleOf } from "../../operator/alerts/situation.ts";
import { MAX_SPAN_MS } from "../../operator/query/backlog.ts";
import type { AdminStore, Stats } from "../../store/admin/admin.ts";
import { StoreError } from "../../store/port/errors.ts";
import type { SeriesStore } from "../../store/port/series.ts";
import { ALL_QUEUES } from "../../store/port/paused_queues.ts";
import type { Sessions } from "../auth/sessions.ts";
import type { StreamVisitor } from "../http/event_streams.ts";
import { countsOf } from "./counts.ts";

export const WATCHED_INTERVAL_MS = 2_000;
const IDLE_INTERVAL_MS = 15_000;
const MINUTE_MS = 60_000;
/** Ten minutes of samples at the shorter interval. */
const MAX_SAMPLES = 300;
const MAX_WATCHERS = 200;
/** Of these, the most from one address. An office may share one address. */
const MAX_WATCHERS_PER_ADDRESS = 50;

/** The parts of the store that live counts use. */
export interface LiveStatsStore {
  readonly admin: Pick<AdminStore, "stats">;
  readonly series: Pick<SeriesStore, "add">;
}

/** The sizes of many queues for longer would need much memory. */
function withoutOldSizes(sample: Sample, now: number): Sample {
  if (sample.queues === undefined || now - sample.at <= MAX_SPAN_MS) return sample;
  const { queues: _, ...totals } = sample;
  return totals;
}

/** Reads the counts, and sends them to all watching pages. */
export class LiveStats {
  readonly #store: LiveStatsStore;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #sessions: Pick<Sessions, "follow">;
  readonly #watchers = new Set<(stats: Stats, sample: Sample) => void>();
  readonly #enders = new Set<() => void>();
  /** Watchers by address. */
  readonly #perAddress = new Map<string, number>();
  readonly #end = new AbortController();
  #samples: readonly Sample[] = [];
  #wake = new AbortController();
  #looping: Promise<void> | undefined;
  /** The last minute, since the epoch, for which the queues were recorded. */
  #recordedMinute = -1;
  #failed: { readonly error: StoreError; readonly since: number } | undefined;

  /**
   * Reads nothing before {@linkcode start}.
   *
   * @param sessions end their streams
   */
  constructor(store: LiveStatsStore, clock: Clock, log: Log, sessions: Pick<Sessions, "follow">) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    this.#sessions = sessions;
  }

  /** The latest samples, oldest first. */
  get samples(): readonly Sample[] {
    return this.#samples;
  }

  /** The last write, if it failed, and since when all have. */
  get failed(): { readonly error: StoreError; readonly since: number } | undefined {
    return this.#failed;
  }

  /** Starts to read periodically. */
  start(): void {
    this.#looping ??= this.#loop();
  }

  /** Reads once, and sends the counts to all watchers. */
  async step(): Promise<void> {
    const stats = await this.#store.admin.stats();
    const sample = sampleOf(stats, this.#clock.now());
    this.#samples = [...this.#samples.slice(1 - MAX_SAMPLES).map((one) => withoutOldSizes(one, sample.at)), sample];
    for (const send of this.#watchers) send(stats, sample);
    await this.#recordQueues(stats.queues, sample.at);
  }

  /** Records depth and latency of the queues once a minute, for the charts. */
  async #recordQueues(queues: Stats["queues"], now: number): Promise<void> {
    const minute = Math.floor(now / MINUTE_MS);
    if (minute === this.#recordedMinute) return;
    const named = queues.filter(({ name }) => name !== ALL_QUEUES);
    try {
      await this.#store.series.add(
        "queues",
        named.map(({ name, size, latencyMs }) => ({ queue: name, size, latencyMs })),
      );
    } catch (error) {
      // It is tried again with the next reading: the alert ends as soon as writes succeed.
      const before = this.#failed;
      if (error instanceof StoreError) this.#failed = { error, since: before?.since ?? now };
      if (before !== undefined) return;
      throw error;
    }
    this.#failed = undefined;
    this.#recordedMinute = minute;
  }

  /**
   * Returns a stream of server-sent events, which ends when its reader cancels, with the visitor's session, or on {@linkcode close}.
   *
   * @throws {RangeError} if too many pages watch, in total or from this address
   */
  watch({ address, session }: StreamVisitor): ReadableStream<Uint8Array> {
    const others = this.#perAddress.get(address) ?? 0;
    if (this.#watchers.size >= MAX_WATCHERS) throw new RangeError("Too many pages follow live updates");
    if (others >= MAX_WATCHERS_PER_ADDRESS) {
      throw new RangeError(`Too many pages from ${address} follow live updates: at most ${MAX_WATCHERS_PER_ADDRESS}`);
    }
    this.#perAddress.set(address, others + 1);
    const encoder = new TextEncoder();
    let stop = () => {};
    let unfollow = () => {};
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        const send = (stats: Stats, sample: Sample) => {
          // A page that doesn't read misses updates, instead of filling the memory.
          if ((controller.desiredSize ?? 0) < -20) return;
          const data = JSON.stringify({ ...countsOf(stats), at: sample.at });
          controller.enqueue(encoder.encode(`event: stats\ndata: ${data}\n\n`));
        };
        const end = () => {
          stop();
          controller.close();
        };
        stop = () => {
          if (!this.#watchers.delete(send)) return;
          this.#enders.delete(end);
          unfollow();
          this.#leave(address);
        };
        controller.enqueue(encoder.encode("retry: 3000\n\n"));
        this.#watchers.add(send);
        this.#enders.add(end);
        if (session !== undefined) unfollow = this.#sessions.follow(session, end);
        this.#wake.abort();
      },
      cancel: () => stop(),
    });
  }

  /** Stops reading, and ends all streams. */
  async close(): Promise<void> {
    this.#end.abort();
    for (const end of [...this.#enders]) end();
    await this.#looping;
  }

  #leave(address: string): void {
    const left = this.#perAddress.get(address)! - 1;
    if (left > 0) this.#perAddress.set(address, left);
    else this.#perAddress.delete(address);
  }

  async #loop(): Promise<void> {
    while (!this.#end.signal.aborted) {
      try {
        await this.step();
      } catch (error) {
        this.#log.warn("Failed to read the counts", { error: (error as Error).message });
      }
      const watched = this.#watchers.size > 0;
      this.#wake = new AbortController();
      const signal = watched ? this.#end.signal : AbortSignal.any([this.#end.signal, this.#wake.signal]);
      await this.#clock.sleep(watched ? WATCHED_INTERVAL_MS : IDLE_INTERVAL_MS, signal);
    }
  }
}
