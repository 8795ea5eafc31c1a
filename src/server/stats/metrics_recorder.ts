/**
 * The metricsRecorder: writes down what was measured of each class once a minute, and at the end. What it cannot write is gone:
 * the numbers of a minute, and nothing else.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { Log } from "../../log/log.ts";
import { StoreError } from "../../store/port/errors.ts";
import type { LoopBody } from "../service.ts";
import { OutageLog } from "../outage_log.ts";
import type { ClassCounters } from "./class_counters.ts";
import type { ServerStore } from "../../store/port/store.ts";

const MINUTE_MS = 60_000;
/** It writes in the last seconds of a minute, so that what it writes belongs to it; not all processes in the same one. */
const EARLIEST_MS = 50_000;
const LATEST_MS = 59_000;

/** Its loop's task is `metrics-recorder`. */
export class MetricsRecorder implements LoopBody<void> {
  readonly name = "metrics-recorder";
  readonly #store: Pick<ServerStore, "metrics">;
  readonly #classCounters: Pick<ClassCounters, "drain">;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #outage: OutageLog;
  readonly #phaseMs = EARLIEST_MS + Math.random() * (LATEST_MS - EARLIEST_MS);
  #isWriting = false;

  constructor(
    options: {
      store: Pick<ServerStore, "metrics">;
      classCounters: Pick<ClassCounters, "drain">;
      clock: Clock;
      log: Log;
      outage?: OutageLog;
    },
  ) {
    this.#store = options.store;
    this.#classCounters = options.classCounters;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#outage = options.outage ?? new OutageLog();
  }

  /** Writes down what there is. */
  async step(): Promise<void> {
    const measurements = this.#classCounters.drain();
    if (measurements.length === 0) return;
    this.#isWriting = true;
    try {
      await this.#store.metrics.record(measurements);
      const level = this.#outage.over("measures");
      if (level !== undefined) this.#log[level]("Measures of classes are written again");
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#sayGone(error);
    } finally {
      this.#isWriting = false;
    }
  }

  /** Until this minute is nearly over. */
  async rest(_: void, signal: AbortSignal): Promise<void> {
    const left = this.#phaseMs - this.#clock.now() % MINUTE_MS;
    await this.#clock.sleep(left > 0 ? left : left + MINUTE_MS, signal);
  }

  /** The end no longer waits for what is being written. */
  abandon(): void {
    if (this.#isWriting) this.#sayGone(new Error("The store did not answer"));
  }

  #sayGone(error: Error): void {
    if (this.#outage.has("measures")) return;
    this.#log[this.#outage.met("measures", error)]("Measures of classes not written, and gone", {
      error: error.message,
    });
  }
}
