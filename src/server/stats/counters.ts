/**
 * Counters of this worker, for `jobs workers` and `/metrics`: jobs by class, and events that belong to no class. Components count
 * here; readers ask the launcher.
 *
 * Counting a job takes two look-ups and some additions.
 *
 * @module
 */
import type { CronRecord } from "../../cron/occurrence.ts";
import type { HorseCounts } from "../../handlers/isolation/pool.ts";
import { type Durations, Histogram } from "../../job/histogram.ts";
import { type ClassMetrics, RUN_BOUNDS_MS, runBucket } from "../../store/port/metrics.ts";
import type { ClassTotals } from "../../store/port/workers.ts";

/** Everything that a worker has counted since it started. */
export interface ServerCounts {
  /** Attempts by class. The number of classes is bounded. */
  readonly classes: ReadonlyMap<string, ClassCounts>;
  /** Cron occurrences that this worker decided on, by outcome. */
  readonly occurrences: Readonly<Record<Exclude<CronRecord["outcome"], "unreadable">, number>>;
  /** How late occurrences were enqueued. */
  readonly lateness: Durations;
  /** Leases of offline workers that this one returned to their queues. */
  readonly rescued: number;
  /** Jobs that this worker buried because they keep killing their workers. */
  readonly buried: number;
  /** Leases that this worker had lost when it settled or compared them. */
  readonly leasesLost: number;
  /** Dead jobs deleted because there were too many, or because they were too old. */
  readonly deadDropped: number;
  /** How long the event loop delayed its last answer to the heartbeat. */
  readonly loopDelayMs: number;
  /** Absent if no class is isolated. */
  readonly horses: HorseCounts | undefined;
}

export interface ClassCounts {
  readonly endings: Endings;
  /** Run times of attempts that succeeded or failed: neither snoozed nor cancelled. */
  readonly run: Durations;
  /** Times that jobs waited in their queue before they started, if their payloads have `enqueued_at`. */
  readonly wait: Durations;
}

/** How an attempt ended. `unhandled`: this worker has no handler for the class, and the job waits for a worker that has one. */
export type Ending = "succeeded" | "retried" | "dead" | "discarded" | "cancelled" | "snoozed" | "unhandled";
/** Number of attempts by ending. Expired jobs never started. */
export type Endings = Readonly<Record<Ending | "expired", number>>;

/** Upper bounds of the histogram of lateness, in seconds. */
const LATENESS_BOUNDS: readonly number[] = [0.1, 0.5, 1, 5, 15, 60, 300, 3_600];

/** Counts events that belong to no class. See {@linkcode ServerCounts}. */
export class Counters {
  rescued = 0;
  buried = 0;
  leasesLost = 0;
  deadDropped = 0;
  readonly #occurrences = { enqueued: 0, waiting: 0, skipped: 0, replaced: 0, missed: 0, manual: 0 };
  readonly #lateness = new Histogram(LATENESS_BOUNDS);

  occurrence({ outcome, count, decidedAt, scheduledAt }: CronRecord): void {
    if (outcome === "unreadable") return;
    this.#occurrences[outcome] += count ?? 1;
    if (outcome !== "enqueued") return;
    this.#lateness.add(decidedAt - scheduledAt);
  }

  counts(): Omit<ServerCounts, "classes" | "loopDelayMs" | "horses"> {
    return {
      occurrences: this.#occurrences,
      lateness: this.#lateness,
      rescued: this.rescued,
      buried: this.buried,
      leasesLost: this.leasesLost,
      deadDropped: this.deadDropped,
    };
  }
}

/** Classes counted separately. Others are counted together, because a payload may name any class. */
const MAX_CLASSES = 200;
const MAX_CLASS_LENGTH = 200;
const OTHERS = "(other)";

interface MutableCounts extends ClassCounts {
  readonly endings: { -readonly [Name in keyof Endings]: number };
  readonly run: Histogram;
  readonly wait: Histogram;
  workedMs: number;
  /** Counts since the last {@linkcode ClassCounters.drain}. */
  fresh: FreshCounts | undefined;
}

interface FreshCounts {
  processed: number;
  failed: number;
  workedMs: number;
  readonly histogram: number[];
}

export class ClassCounters {
  readonly #classes = new Map<string, MutableCounts>();

  /** Counts how long a job has waited that starts now. */
  addWait(className: string, ms: number): void {
    this.#of(className).wait.add(ms);
  }

  /** Counts an attempt that has ended. */
  add(className: string, ending: Ending, ms: number): void {
    const counts = this.#of(className);
    counts.endings[ending]++;
    // Such a job is only postponed.
    if (ending === "snoozed" || ending === "unhandled") return;
    counts.workedMs += ms;
    if (ending !== "cancelled") counts.run.add(ms);
    const fresh = counts.fresh ??= newFreshCounts();
    fresh.processed++;
    if (ending === "retried" || ending === "dead" || ending === "discarded") fresh.failed++;
    else {
      fresh.workedMs += ms;
      fresh.histogram[runBucket(ms)]!++;
    }
  }

  /** Counts a job that has ended before it started. */
  addUnstarted(className: string, ending: "cancelled" | "expired"): void {
    this.#of(className).endings[ending]++;
  }

  /** Counts a job that was buried because its workers died. Its run time is unknown. */
  addDied(className: string, ending: "dead" | "discarded"): void {
    const counts = this.#of(className);
    counts.endings[ending]++;
    const fresh = counts.fresh ??= newFreshCounts();
    fresh.processed++;
    fresh.failed++;
  }

  /** Returns the totals by class, for the heartbeat. */
  byClass(): Record<string, ClassTotals> {
    return Object.fromEntries([...this.#classes].map(([name, { endings, workedMs }]) => {
      const { succeeded, retried, dead, discarded, cancelled, expired } = endings;
      const failed = retried + dead + discarded;
      return [name, { succeeded, failed, cancelled, expired, workedMs: Math.round(workedMs) }];
    }));
  }

  /** All counts by class. */
  get classes(): ReadonlyMap<string, ClassCounts> {
    return this.#classes;
  }

  /** Returns what was counted since the last call. */
  drain(): ClassMetrics[] {
    const metrics: ClassMetrics[] = [];
    for (const [name, counts] of this.#classes) {
      if (counts.fresh === undefined) continue;
      const { workedMs, ...fresh } = counts.fresh;
      metrics.push({ class: name, ...fresh, workedMs: Math.round(workedMs) });
      counts.fresh = undefined;
    }
    return metrics;
  }

  #of(className: string): MutableCounts {
    const known = this.#classes.get(className);
    if (known !== undefined) return known;
    const isSeparate = this.#classes.size < MAX_CLASSES && className.length <= MAX_CLASS_LENGTH;
    const name = isSeparate ? className : OTHERS;
    let counts = this.#classes.get(name);
    if (counts === undefined) this.#classes.set(name, counts = newCounts());
    return counts;
  }
}

function newCounts(): MutableCounts {
  const endings = {
    succeeded: 0,
    retried: 0,
    dead: 0,
    discarded: 0,
    cancelled: 0,
    snoozed: 0,
    unhandled: 0,
    expired: 0,
  };
  return { endings, run: new Histogram(), wait: new Histogram(), workedMs: 0, fresh: undefined };
}

function newFreshCounts(): FreshCounts {
  return { processed: 0, failed: 0, workedMs: 0, histogram: new Array(RUN_BOUNDS_MS.length + 1).fill(0) };
}
