/**
 * What the counts were a while ago: rates from differences, and the values of each sparkline.
 *
 * @module
 */
import type { Stats } from "../../store/admin/admin.ts";

/** Values kept of each. */
const KEPT = 120;
/** Queues whose depth is kept; there may be any number. */
const MAX_QUEUES = 1_000;
/** A rate is the mean of so many differences: one alone jumps. */
const SMOOTHED = 5;

/** Jobs a second. */
export interface Rates {
  readonly processed: number;
  readonly failed: number;
}

interface Sample {
  /** Milliseconds, on a clock that never jumps. */
  readonly at: number;
  readonly processed: number;
  readonly failed: number;
}

/** The history, added to at each reading. */
export class History {
  #samples: Sample[] = [];
  #throughput: number[] = [];
  #depths = new Map<string, number[]>();

  /** Adds what was read `at` milliseconds of a monotonic clock. */
  add(at: number, stats: Stats): void {
    const last = this.#samples.at(-1);
    // Counters that run backwards are those of a store that was emptied.
    if (last && (stats.processed < last.processed || stats.failed < last.failed)) {
      this.#samples = [];
    } else if (last && at > last.at) {
      this.#throughput = keep(this.#throughput, (stats.processed - last.processed) * 1_000 / (at - last.at));
    }
    this.#samples = [...this.#samples.slice(-SMOOTHED), { at, processed: stats.processed, failed: stats.failed }];
    const sizes: [string, number][] = [
      ...(["scheduled", "retry", "dead"] as const).map((set): [string, number] => [setKey(set), stats[set]]),
      ...stats.queues.slice(0, MAX_QUEUES).map(({ name, size }): [string, number] => [queueKey(name), size]),
    ];
    this.#depths = new Map(sizes.map(([key, size]) => [key, keep(this.#depths.get(key) ?? [], size)]));
  }

  /** Jobs a second over the last readings; undefined before the second one. */
  get rates(): Rates | undefined {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)];
    if (!first || !last || last.at <= first.at) return undefined;
    const seconds = (last.at - first.at) / 1_000;
    return {
      processed: (last.processed - first.processed) / seconds,
      failed: (last.failed - first.failed) / seconds,
    };
  }

  /** Jobs a second between each reading and the next. */
  get throughput(): readonly number[] {
    return this.#throughput;
  }

  /** How many jobs a queue had at each reading. */
  queueDepths(name: string): readonly number[] {
    return this.#depths.get(queueKey(name)) ?? [];
  }

  /** How many jobs a set had at each reading. */
  setSizes(name: string): readonly number[] {
    return this.#depths.get(setKey(name)) ?? [];
  }
}

function keep(values: readonly number[], value: number): number[] {
  return [...values.slice(1 - KEPT), value];
}

function queueKey(name: string): string {
  return `queue:${name}`;
}

function setKey(name: string): string {
  return `set:${name}`;
}
