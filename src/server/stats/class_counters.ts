/**
 * What this process has done, by class: shown with it in `jobs ps` and in `/metrics`, and, since the last writing, what
 * the metricsRecorder writes down. Two look-ups and some additions per job; classes beyond {@linkcode MAX_CLASSES} are counted
 * together.
 *
 * @module
 */
import { type Durations, Histogram } from "../../job/histogram.ts";
import { type ClassMetrics, RUN_BOUNDS_MS, runBucket } from "../../store/port/metrics.ts";
import type { ClassTotals } from "../../store/port/workers.ts";

/** How a try ended: well, or for the time being, or for good; with or without a failure. */
export type Ending = "done" | "retried" | "dead" | "discarded" | "cancelled" | "snoozed";
/** How many tries ended how; `expired` never began. */
export type Endings = Readonly<Record<Ending | "expired", number>>;

/** What is counted of a class, for `/metrics`. */
export interface ClassCounts {
  readonly endings: Endings;
  /** How long those ran that ended well or failed: neither snoozed nor cancelled. */
  readonly run: Durations;
  /** How long those that began had waited in their queue, as far as their payloads say since when. */
  readonly wait: Durations;
}

/** Classes of which each is counted by itself: a name can be anything that somebody pushes. */
const MAX_CLASSES = 200;
const MAX_NAME = 200;
const OTHERS = "(other)";

/** What is counted of one class. */
interface Counted extends ClassCounts {
  readonly endings: { -readonly [Name in keyof Endings]: number };
  readonly run: Histogram;
  readonly wait: Histogram;
  workedMs: number;
  /** Since the last writing. */
  fresh: Fresh | undefined;
}

/** As a measurement, under way. */
interface Fresh {
  processed: number;
  failed: number;
  workedMs: number;
  readonly histogram: number[];
}

/** Counts. */
export class ClassCounters {
  readonly #classes = new Map<string, Counted>();

  /** Counts how long a job had waited that begins. */
  addWait(className: string, ms: number): void {
    this.#of(className).wait.add(ms);
  }

  /** Counts one try that has ended. */
  add(className: string, ending: Ending, ms: number): void {
    const counted = this.#of(className);
    counted.endings[ending]++;
    // It has only been put off.
    if (ending === "snoozed") return;
    counted.workedMs += ms;
    if (ending !== "cancelled") counted.run.add(ms);
    const fresh = counted.fresh ??= newFresh();
    fresh.processed++;
    if (ending === "retried" || ending === "dead" || ending === "discarded") fresh.failed++;
    else {
      fresh.workedMs += ms;
      fresh.histogram[runBucket(ms)]!++;
    }
  }

  /** Counts a job that ended before it began. */
  addUnstarted(className: string, ending: "cancelled" | "expired"): void {
    this.#of(className).endings[ending]++;
  }

  /** Counts a job that was buried because its workers died. How long it ran is not known. */
  addDied(className: string, ending: "dead" | "discarded"): void {
    const counted = this.#of(className);
    counted.endings[ending]++;
    const fresh = counted.fresh ??= newFresh();
    fresh.processed++;
    fresh.failed++;
  }

  /** The counts by class, as of now. */
  byClass(): Record<string, ClassTotals> {
    return Object.fromEntries([...this.#classes].map(([name, { endings, workedMs }]) => {
      const { done, retried, dead, discarded, cancelled, expired } = endings;
      const failed = retried + dead + discarded;
      return [name, { done, failed, cancelled, expired, workedMs: Math.round(workedMs) }];
    }));
  }

  /** All that is counted, by class, as of now. */
  get classes(): ReadonlyMap<string, ClassCounts> {
    return this.#classes;
  }

  /** What was counted since it was last asked for. */
  drain(): ClassMetrics[] {
    const measurements: ClassMetrics[] = [];
    for (const [name, counted] of this.#classes) {
      if (counted.fresh === undefined) continue;
      const { workedMs, ...fresh } = counted.fresh;
      measurements.push({ class: name, ...fresh, workedMs: Math.round(workedMs) });
      counted.fresh = undefined;
    }
    return measurements;
  }

  #of(className: string): Counted {
    const known = this.#classes.get(className);
    if (known !== undefined) return known;
    const isOwn = this.#classes.size < MAX_CLASSES && className.length <= MAX_NAME;
    const name = isOwn ? className : OTHERS;
    let counted = this.#classes.get(name);
    if (counted === undefined) this.#classes.set(name, counted = newCounted());
    return counted;
  }
}

function newCounted(): Counted {
  const endings = { done: 0, retried: 0, dead: 0, discarded: 0, cancelled: 0, snoozed: 0, expired: 0 };
  return { endings, run: new Histogram(), wait: new Histogram(), workedMs: 0, fresh: undefined };
}

function newFresh(): Fresh {
  return { processed: 0, failed: 0, workedMs: 0, histogram: new Array(RUN_BOUNDS_MS.length + 1).fill(0) };
}
