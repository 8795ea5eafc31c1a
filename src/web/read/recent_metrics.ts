/**
 * Reads the metrics of classes, with a cache for slow stores. A slow reading is cached for up to a minute, which is the
 * interval at which workers record metrics. Concurrent callers share one reading.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { ClassMetricsSeries, MetricsWindow } from "../../store/port/metrics.ts";
import type { Store } from "../../store/admin/store.ts";

/** Faster readings are not cached. */
const MIN_CACHED_MS = 20;
/** A reading is cached for this many times its duration, so that reading takes at most 2 % of the time. */
const CACHE_FACTOR = 50;
const MAX_CACHE_MS = 60_000;

/** Reads and caches the metrics of classes. */
export class RecentMetrics {
  readonly #store: Pick<Store, "series">;
  readonly #clock: Clock;
  readonly #readings = new Map<MetricsWindow, { readonly measured: Promise<ClassMetricsSeries[]>; until: number }>();

  /** @param clock times the readings and the cache */
  constructor(store: Pick<Store, "series">, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** See `SeriesReadings.classes`. */
  read(window: MetricsWindow): Promise<ClassMetricsSeries[]> {
    const began = this.#clock.monotonic();
    const kept = this.#readings.get(window);
    if (kept !== undefined && began < kept.until) return kept.measured;
    const reading = { measured: this.#store.series.read("classes", window), until: Infinity };
    this.#readings.set(window, reading);
    reading.measured.then(() => {
      const now = this.#clock.monotonic();
      reading.until = now - began < MIN_CACHED_MS ? now : now + Math.min(MAX_CACHE_MS, CACHE_FACTOR * (now - began));
    }, () => this.#readings.delete(window));
    return reading.measured;
  }
}
