/**
 * The counters: what this process has seen happen that is no job's own doing, for `/metrics`. Those who see it count it here;
 * who wants to know asks the launcher.
 *
 * @module
 */
import type { CronRecord } from "../../cron/occurrence.ts";
import type { HorseCounts } from "../../handlers/isolation/pool.ts";
import { type Durations, Histogram } from "../../job/histogram.ts";
import type { ClassCounts } from "./class_counters.ts";

/** How late occurrences are enqueued, in seconds. */
const LATENESS_BOUNDS: readonly number[] = [0.1, 0.5, 1, 5, 15, 60, 300, 3_600];

/** Everything that a server counts, since it started. */
export interface ServerCounts {
  /** How tries ended, ran and had waited, by class; the number of classes has a bound. */
  readonly classes: ReadonlyMap<string, ClassCounts>;
  /** What became of crontab occurrences that this process decided on. */
  readonly occurrences: Readonly<Record<CronRecord["outcome"], number>>;
  /** How late those were enqueued. */
  readonly lateness: Durations;
  /** Leases of dead processes that this one gave back. */
  readonly rescued: number;
  /** Jobs that it buried because they keep killing their processes. */
  readonly buried: number;
  /** Leases that it had lost when it settled them: it had been taken for dead. */
  readonly leasesLost: number;
  /** Dead jobs dropped because there were too many, or they were too old. */
  readonly deadDropped: number;
  /** For how long the event loop kept the last beat's question waiting. */
  readonly loopDelayMs: number;
  /** Absent when nothing runs in horses. */
  readonly horses: HorseCounts | undefined;
}

/** Counts. */
export class Counters {
  /** Leases of dead processes that this one gave back. */
  rescued = 0;
  /** Jobs that it buried because they keep killing their processes. */
  buried = 0;
  /** Leases that it had lost when it settled them. */
  leasesLost = 0;
  /** Dead jobs dropped because there were too many, or they were too old. */
  deadDropped = 0;
  readonly #occurrences = { enqueued: 0, waiting: 0, skipped: 0, replaced: 0, missed: 0, manual: 0 };
  readonly #lateness = new Histogram(LATENESS_BOUNDS);

  /** Counts what became of an occurrence. */
  occurrence({ outcome, count, decidedAt, scheduledAt }: CronRecord): void {
    this.#occurrences[outcome] += count ?? 1;
    if (outcome !== "enqueued") return;
    this.#lateness.add(decidedAt - scheduledAt);
  }

  /** The counts, as of now. */
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
