/**
 * From due occurrences to jobs: what happens to each of them while the job of the one before may still be there.
 *
 * `live` is the job of the latest occurrence as long as it is in a queue, waits for a retry, or is being performed; a
 * job whose process died is back in its queue once rescued. So the answer follows from where the job is, and there is
 * no time to guess after which it no longer counts.
 *
 * @module
 */
import type { Occurrence } from "../job/occurrence.ts";
import type { CronState, Missed, Plan } from "./plan.ts";

export type { Occurrence } from "../job/occurrence.ts";

/**
 * What to do with an occurrence while the job of the one before is still there.
 *
 * - `allow`: enqueue it all the same.
 * - `skip`: leave it out.
 * - `queue-one`: enqueue it when that job has ended; one waits, others are left out.
 * - `replace`: cancel that job, and enqueue it when that has ended; it takes the place of one that waits.
 */
export type Overlap = "allow" | "skip" | "queue-one" | "replace";

/** What became of an occurrence: one line of its entry's history. Times are epoch milliseconds. Plain JSON. */
export interface CronRecord {
  /**
   * - `enqueued`: its job is in its queue.
   * - `waiting`: until the job before has ended.
   * - `skipped`: the job before was still there.
   * - `replaced`: a later one took its place before it was enqueued.
   * - `missed`: it was decided too late. `count` of them from `first` to `scheduledAt`.
   * - `manual`: enqueued by hand, whatever else was there.
   */
  readonly outcome: "enqueued" | "waiting" | "skipped" | "replaced" | "missed" | "manual";
  /** When it was to be; of several that were missed, the last. */
  readonly scheduledAt: number;
  /** When that was decided. */
  readonly decidedAt: number;
  /** The job that was enqueued, or the one that was in the way. */
  readonly jid?: string;
  /** Missed: how many. */
  readonly count?: number;
  /** Missed: the first of them. */
  readonly first?: number;
  /** Why it was skipped, where no job was in the way. */
  readonly reason?: string;
}

/** A job to enqueue for an occurrence. */
export interface OccurrenceJob {
  readonly jid: string;
  readonly occurrence: Occurrence;
}

/** Everything that follows from a plan; to be stored in one step. */
export interface Decision {
  readonly jobs: readonly OccurrenceJob[];
  /** Oldest first. */
  readonly records: readonly CronRecord[];
  readonly state: CronState;
  /** The job that is to be cancelled. Asked again at each look as long as another waits for its end. */
  readonly cancel: string | undefined;
}

/** What deciding wants to know. */
export interface DecisionInput {
  readonly name: string;
  readonly overlap: Overlap;
  readonly plan: Plan;
  /** The job of the latest occurrence, while it is there. */
  readonly live: string | undefined;
  readonly now: number;
  /** Makes the jid of a job. */
  readonly newJid: () => string;
}

/** Decides what happens to the due occurrences of one entry. */
export function decideRuns(input: DecisionInput): Decision {
  const { overlap, plan, now } = input;
  const decider = new OverlapDecider(input);
  if (plan.missed) decider.records.push(missedRecord(plan.missed, now));
  if (overlap === "replace") decider.admitLatest(plan.due);
  else decider.admit(plan.due, overlap);
  const { jobs, records, waiting, inTheWay } = decider;
  return {
    jobs,
    records,
    state: withWaiting(plan.state, waiting),
    cancel: overlap === "replace" && waiting !== undefined ? inTheWay : undefined,
  };
}

/** Where one entry's occurrences are dealt with, one after the other. */
class OverlapDecider {
  readonly jobs: OccurrenceJob[] = [];
  readonly records: CronRecord[] = [];
  /** The occurrence that waits. */
  waiting: number | undefined;
  /** The job for whose end it waits. */
  inTheWay: string | undefined;
  readonly #input: DecisionInput;

  constructor(input: DecisionInput) {
    this.#input = input;
    this.waiting = input.plan.state.waiting;
    this.inTheWay = input.live;
  }

  admit(due: readonly number[], overlap: "allow" | "skip" | "queue-one"): void {
    const isFree = () => overlap === "allow" || this.inTheWay === undefined;
    if (this.waiting !== undefined && isFree()) {
      this.#enqueue(this.waiting);
      this.waiting = undefined;
    }
    for (const at of due) {
      if (isFree()) this.#enqueue(at);
      else if (overlap === "queue-one" && this.waiting === undefined) this.#wait(at);
      else this.#record("skipped", at, this.inTheWay);
    }
  }

  /** Of those that wait and those that are due, the latest counts. */
  admitLatest(due: readonly number[]): void {
    const latest = due.at(-1) ?? this.waiting;
    for (const at of this.waiting === undefined ? due : [this.waiting, ...due]) {
      if (at !== latest) this.#record("replaced", at);
    }
    if (latest === undefined) return;
    if (this.inTheWay === undefined) {
      this.#enqueue(latest);
      this.waiting = undefined;
    } else if (latest !== this.waiting) this.#wait(latest);
  }

  #enqueue(at: number): void {
    const { name, now, newJid } = this.#input;
    this.inTheWay = newJid();
    this.jobs.push({ jid: this.inTheWay, occurrence: occurrenceAt(name, at, now) });
    this.#record("enqueued", at, this.inTheWay);
  }

  #wait(at: number): void {
    this.waiting = at;
    this.#record("waiting", at, this.inTheWay);
  }

  #record(outcome: CronRecord["outcome"], scheduledAt: number, jid?: string): void {
    this.records.push({ outcome, scheduledAt, decidedAt: this.#input.now, ...(jid !== undefined && { jid }) });
  }
}

/** An occurrence made by hand: now, whatever else is there. */
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
