/**
 * The counts of the last readings: rates as their differences, and the values of the sparklines.
 *
 * @module
 */
import type { Stats } from "../../store/admin/admin.ts";

/** Values kept of each sparkline. */
const MAX_VALUES = 120;
/** Queues whose depth is kept. A store may have any number. */
const MAX_QUEUES = 1_000;
/** A rate is the mean of this many differences, because a single one fluctuates. */
const SMOOTHED_READINGS = 5;

/** Jobs per second. */
export interface Rates {
  readonly processed: number;
  readonly failed: number;
}

interface Sample {
  /** Milliseconds on the monotonic clock. */
  readonly at: number;
  readonly processed: number;
  readonly failed: number;
}

/** The history of the counts. */
export class History {
  #samples: Sample[] = [];
  #throughput: number[] = [];
  #depths = new Map<string, number[]>();

  /** Adds the counts read at `at` milliseconds on the monotonic clock. */
  add(at: number, stats: Stats): void {
    const last = this.#samples.at(-1);
    // Counters decrease when the store was emptied.
    if (last && (stats.processed < last.processed || stats.failed < last.failed)) {
      this.#samples = [];
    } else if (last && at > last.at) {
      this.#throughput = keep(this.#throughput, (stats.processed - last.processed) * 1_000 / (at - last.at));
    }
    this.#samples = [...this.#samples.slice(-SMOOTHED_READINGS), {
      at,
      processed: stats.processed,
      failed: stats.failed,
    }];
    const sizes: [string, number][] = [
      ...(["scheduled", "retry", "dead"] as const).map((set): [string, number] => [setKey(set), stats[set]]),
      ...stats.queues.slice(0, MAX_QUEUES).map(({ name, size }): [string, number] => [queueKey(name), size]),
    ];
    this.#depths = new Map(sizes.map(([key, size]) => [key, keep(this.#depths.get(key) ?? [], size)]));
  }

  /** Jobs per second over the last readings; undefined before the second reading. */
  get rates(): Rates | undefined {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)];
    if (!first || !last || last.at <= first.at) return undefined;
    const seconds = (last.at - first.at) / 1_000;
    return {
      processed: (last.processed - first.processed) / seconds,
      failed: (last.failed - first.failed) / seconds,
    };
  }

  /** Jobs per second between each reading and the next. */
  get throughput(): readonly number[] {
    return this.#throughput;
  }

  /** The number of jobs in a queue at each reading. */
  queueDepths(name: string): readonly number[] {
    return this.#depths.get(queueKey(name)) ?? [];
  }

  /** The number of jobs in a set at each reading. */
  setSizes(name: string): readonly number[] {
    return this.#depths.get(setKey(name)) ?? [];
  }
}

function keep(values: readonly number[], value: number): number[] {
  return [...values.slice(1 - MAX_VALUES), value];
}

function queueKey(name: string): string {
  return `queue:${name}`;
}

function setKey(name: string): string {
  return `set:${name}`;
}
