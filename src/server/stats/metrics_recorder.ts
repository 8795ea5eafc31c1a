/**
 * The metrics recorder: stores what was counted per class, once a minute and when the worker stops. Counts that it cannot
 * store are lost: those of one minute, and nothing else.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { Log } from "../../log/log.ts";
import { StoreError } from "../../store/port/errors.ts";
import type { SeriesStore } from "../../store/port/series.ts";
import type { LoopBody } from "../component.ts";
import { OutageLog } from "../outage_log.ts";
import type { ClassCounters } from "./counters.ts";

const MINUTE_MS = 60_000;
/** Counts are stored in the last seconds of the minute that they belong to. Each worker picks a random second. */
const EARLIEST_MS = 50_000;
const LATEST_MS = 59_000;
/** Its name in the outage log. */
const PART = "class metrics";

export interface MetricsRecorderOptions {
  readonly store: { readonly series: Pick<SeriesStore, "add"> };
  readonly classCounters: Pick<ClassCounters, "drain">;
  readonly clock: Clock;
  readonly log: Log;
  readonly outage?: OutageLog;
}

export class MetricsRecorder implements LoopBody<void> {
  readonly name = "metrics-recorder";
  readonly #options: MetricsRecorderOptions;
  readonly #outage: OutageLog;
  readonly #secondMs = Math.round(EARLIEST_MS + Math.random() * (LATEST_MS - EARLIEST_MS));
  #isWriting = false;

  constructor(options: MetricsRecorderOptions) {
    this.#options = options;
    this.#outage = options.outage ?? new OutageLog();
  }

  /** Stores what was counted since the last step. */
  async step(): Promise<void> {
    const { store, classCounters, log } = this.#options;
    const metrics = classCounters.drain();
    if (metrics.length === 0) return;
    this.#isWriting = true;
    try {
      await store.series.add("classes", metrics);
      const level = this.#outage.over(PART);
      if (level !== undefined) log[level]("Metrics of classes are stored again");
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#reportLost(error);
    } finally {
      this.#isWriting = false;
    }
  }

  /** Waits until the minute is nearly over. */
  async rest(_: void, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const left = this.#secondMs - clock.now() % MINUTE_MS;
    await clock.sleep(left > 0 ? left : left + MINUTE_MS, signal);
  }

  /** Stores the counts of the last jobs. */
  end(): Promise<void> {
    return this.step();
  }

  /** Reports counts that are still being stored as lost. */
  abandon(): void {
    if (this.#isWriting) this.#reportLost(new Error("The store did not answer"));
  }

  #reportLost(error: Error): void {
    if (this.#outage.has(PART)) return;
    const level = this.#outage.met(PART, error);
    this.#options.log[level]("Metrics of classes lost: not stored", { error: error.message });
  }
}
