/**
 * What was measured of classes, read no more often than it is worth: where it takes long, it is kept for up to a minute,
 * as long as servers take to write down the next; and those who ask at the same time share one reading.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { ClassMetricsSeries, MetricsWindow } from "../../store/port/metrics.ts";
import type { Store } from "../../store/admin/store.ts";

/** A reading that took less is made anew each time. */
const CHEAP_MS = 20;
/** So many times as long as it took it is kept: then it takes 2 % of the time at most. */
const KEPT_TIMES = 50;
const MAX_DURATION_MS = 60_000;

/** Reads, and keeps what it has read. */
export class RecentMetrics {
  readonly #store: Pick<Store, "metrics">;
  readonly #clock: Clock;
  readonly #readings = new Map<MetricsWindow, { readonly measured: Promise<ClassMetricsSeries[]>; until: number }>();

  /** Reads from this store. */
  constructor(store: Pick<Store, "metrics">, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** See `MetricsStore.read`. */
  read(window: MetricsWindow): Promise<ClassMetricsSeries[]> {
    const began = this.#clock.monotonic();
    const kept = this.#readings.get(window);
    if (kept !== undefined && began < kept.until) return kept.measured;
    const reading = { measured: this.#store.metrics.read(window), until: Infinity };
    this.#readings.set(window, reading);
    reading.measured.then(() => {
      const now = this.#clock.monotonic();
      reading.until = now - began < CHEAP_MS ? now : now + Math.min(MAX_DURATION_MS, KEPT_TIMES * (now - began));
    }, () => this.#readings.delete(window));
    return reading.measured;
  }
}
