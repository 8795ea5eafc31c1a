/**
 * Decides which due runs are enqueued while the job of the previous run may not have ended.
 *
 * `live` is the job of the latest run while it is queued, retrying or running. A job of an offline worker returns to its
 * queue when it is rescued. The decision therefore depends only on where the job is, and needs no timeout after which a
 * job no longer counts.
 *
 * @module
 */
import type { Occurrence } from "../job/occurrence.ts";
import type { CronState, Missed, Plan } from "./plan.ts";

export type { Occurrence } from "../job/occurrence.ts";

/**
 * The treatment of a run while the job of the previous run hasn't ended.
 *
 * - `allow`: enqueue the run.
 * - `skip`: skip the run.
 * - `queue-one`: enqueue the run when that job has ended. At most one run waits; others are skipped.
 * - `replace`: cancel that job, and enqueue the run when it has ended. The run replaces one that already waits.
 */
export type Overlap = "allow" | "skip" | "queue-one" | "replace";

/** The outcome of a run: one line in the history of its entry. Times are epoch milliseconds. Plain JSON. */
export interface CronRecord {
  /**
   * - `enqueued`: its job was enqueued.
   * - `waiting`: it waits until the previous job has ended.
   * - `skipped`: the previous job hadn't ended, or the job could not be built, or the entry was paused (`reason`).
   * - `replaced`: a later run took its place before it was enqueued.
   * - `missed`: it was decided too late. Stands for `count` runs from `first` to `scheduledAt`.
   * - `manual`: it was enqueued by hand.
   * - `unreadable`: another program has written the record (`reason`). Its times are NaN. Never stored.
   */
  readonly outcome: "enqueued" | "waiting" | "skipped" | "replaced" | "missed" | "manual" | "unreadable";
  /** The time of the run; of several missed runs, the last. */
  readonly scheduledAt: number;
  /** The time of the decision. */
  readonly decidedAt: number;
  /** The job that was enqueued, or the job that blocked the run. */
  readonly jid?: string;
  /** Missed: the number of runs. */
  readonly count?: number;
  /** Missed: the time of the first run. */
  readonly first?: number;
  /** Why it was skipped, if no job blocked it. */
  readonly reason?: string;
}

export interface OccurrenceJob {
  readonly jid: string;
  readonly occurrence: Occurrence;
}

/** The changes that follow from a plan. They are stored in one step. */
export interface Decision {
  readonly jobs: readonly OccurrenceJob[];
  /** Oldest first. */
  readonly records: readonly CronRecord[];
  readonly state: CronState;
  /** The job to cancel. Set at each decision while a run waits for the end of that job. */
  readonly cancel: string | undefined;
}

export interface DecisionInput {
  readonly name: string;
  readonly overlap: Overlap;
  readonly plan: Plan;
  /** The job of the latest run, until it has ended. */
  readonly live: string | undefined;
  readonly now: number;
  readonly newJid: () => string;
}

/** Decides which due runs of one entry are enqueued. */
export function decideRuns(input: DecisionInput): Decision {
  const { overlap, plan, now } = input;
  const decider = new OverlapDecider(input);
  if (plan.missed) decider.records.push(missedRecord(plan.missed, now));
  if (plan.state.paused) decider.skipWaiting(overlap);
  else if (overlap === "replace") decider.admitLatest(plan.due);
  else decider.admit(plan.due, overlap);
  const { jobs, records, waiting, blocker } = decider;
  return {
    jobs,
    records,
    state: withWaiting(plan.state, waiting),
    cancel: overlap === "replace" && waiting !== undefined ? blocker : undefined,
  };
}

/** Decides the runs of one entry, one after the other. */
class OverlapDecider {
  readonly jobs: OccurrenceJob[] = [];
  readonly records: CronRecord[] = [];
  /** The time of the run that waits. */
  waiting: number | undefined;
  /** The job that blocks further runs until it has ended. */
  blocker: string | undefined;
  readonly #input: DecisionInput;

  constructor(input: DecisionInput) {
    this.#input = input;
    this.waiting = input.plan.state.waiting;
    this.blocker = input.live;
  }

  admit(due: readonly number[], overlap: "allow" | "skip" | "queue-one"): void {
    const isFree = () => overlap === "allow" || this.blocker === undefined;
    if (this.waiting !== undefined && isFree()) {
      this.#enqueue(this.waiting);
      this.waiting = undefined;
    }
    for (const at of due) {
      if (isFree()) this.#enqueue(at);
      else if (overlap === "queue-one" && this.waiting === undefined) this.#wait(at);
      else this.#record("skipped", at, { jid: this.blocker });
    }
  }

  /** Enqueues only the latest of the waiting and the due runs. */
  admitLatest(due: readonly number[]): void {
    const latest = due.at(-1) ?? this.waiting;
    for (const at of this.waiting === undefined ? due : [this.waiting, ...due]) {
      if (at !== latest) this.#record("replaced", at);
    }
    if (latest === undefined) return;
    if (this.blocker === undefined) {
      this.#enqueue(latest);
      this.waiting = undefined;
    } else if (latest !== this.waiting) this.#wait(latest);
  }

  /** Skips the run that waits if its turn comes while the entry is paused: no run is enqueued then, and none is caught up. */
  skipWaiting(overlap: Overlap): void {
    if (this.waiting === undefined || overlap !== "allow" && this.blocker !== undefined) return;
    this.#record("skipped", this.waiting, { reason: "the entry was paused when the previous job ended" });
    this.waiting = undefined;
  }

  #enqueue(at: number): void {
    const { name, now, newJid } = this.#input;
    this.blocker = newJid();
    this.jobs.push({ jid: this.blocker, occurrence: occurrenceAt(name, at, now) });
    this.#record("enqueued", at, { jid: this.blocker });
  }

  #wait(at: number): void {
    this.waiting = at;
    this.#record("waiting", at, { jid: this.blocker });
  }

  #record(
    outcome: CronRecord["outcome"],
    scheduledAt: number,
    { jid, reason }: { readonly jid?: string | undefined; readonly reason?: string } = {},
  ): void {
    const about = { ...(jid !== undefined && { jid }), ...(reason !== undefined && { reason }) };
    this.records.push({ outcome, scheduledAt, decidedAt: this.#input.now, ...about });
  }
}

/** Returns a run by hand: now, even while other jobs of the entry haven't ended. */
export function decideManualRun({ name, now, newJid }: Pick<DecisionInput, "name" | "now" | "newJid">): {
  readonly job: OccurrenceJob;
  readonly record: CronRecord;
} {
  const jid = newJid();
  return {
    job: { jid, occurrence: occurrenceAt(name, now, now) },
    record: { outcome: "manual", scheduledAt: now, decidedAt: now, jid },
  };
}

function occurrenceAt(name: string, at: number, now: number): Occurrence {
  return { name, scheduledAt: new Date(at).toISOString(), lateMs: now - at };
}

function missedRecord({ count, first, last }: Missed, now: number): CronRecord {
  return { outcome: "missed", scheduledAt: last, decidedAt: now, count, first };
}

function withWaiting(state: CronState, waiting: number | undefined): CronState {
  if (state.waiting === waiting) return state;
  const { waiting: _, ...rest } = state;
  return waiting === undefined ? rest : { ...rest, waiting };
}
