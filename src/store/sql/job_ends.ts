/**
 * The end of a job, in whatever way: everything that must happen then.
 *
 * A step notes the ends of jobs, and applies them once: a statement for all jobs, as far as possible. That a lease is gone
 * makes its group ready; that is a trigger on the leases (`schema.sql`), so that it follows from every way to lose a lease.
 *
 * @module
 */
import { COUNTED_FIELD, type MemberEnd } from "../../job/batch.ts";
import { endMembers } from "../../job/event.ts";
import { STEPS_FIELD } from "../../job/step.ts";
import type { Subscription } from "../../job/webhook.ts";
import type { Outcome, ParentStep } from "../port/outcomes.ts";
import { followsOf } from "../ops/follow.ts";
import type { NewJob } from "../port/jobs.ts";
import type { NewRecord } from "../port/results.ts";
import { BatchChanges } from "./batch_rows.ts";
import { type Body, type Engine, hold, query, type Row } from "./body.ts";
import { endLive } from "./cron.ts";
import { recordEnds } from "./events.ts";
import { inParts, inTexts } from "./in_parts.ts";
import { type JobRow, remove } from "./job_rows.ts";
import * as results from "./results.ts";
import { answerStep, type EndedBy, failParentOf, leaveWaiting } from "./step_rows.ts";
import { endStreams } from "./streams.ts";
import * as keys from "./push_keys.ts";
import { subscribed } from "./webhooks.ts";

/** The class of the error in the step that waits for a job, by how the job ended; else `Deleted`. */
const ENDED_BY: Readonly<Record<string, EndedBy>> = { dead: "Killed", cancelled: "Cancelled" };

/** Patterns of payloads that a batch counts, or that have steps. */
const MARKED = `'%"${COUNTED_FIELD}"%' OR payload LIKE '%"${STEPS_FIELD}"%'`;

/** Maximum number of dead jobs that are dropped at once, so that other operations don't wait. The next burial continues. */
const MAX_DROPPED = 1_000;

/** The ends of jobs in one step. Apply them in the same transaction. */
export class JobEnds {
  /** The changes of batches, which are applied with the ends. */
  readonly batches: BatchChanges;
  readonly #removeEnded: Engine["removeEnded"];
  readonly #gone: number[] = [];
  /** Those of no batch. The rows of a batch are counted by its number. */
  readonly #ended: number[] = [];
  readonly #withSteps: string[] = [];
  /** The jobs of webhooks. */
  readonly #follow: NewJob[] = [];
  readonly #storeJobs: Engine["storeJobs"];
  readonly #trimRecords: Engine["trimRecords"];
  #subscriptions: readonly Subscription[] | undefined;
  /** Dead jobs with steps, which they keep. */
  readonly #died: string[] = [];
  /** Jobs that cron entries may have as their live one. */
  readonly #occurrences: string[] = [];
  /** Dead jobs, which wait for no signal. */
  readonly #leaving: string[] = [];
  readonly #records = new Map<string, NewRecord>();
  /** Waits that the ends of children end. A parent that goes to sleep in this call must be in its set before. */
  readonly #answers: ParentStep[] = [];
  readonly #unlocks: [key: string, jid: string][] = [];
  readonly #dialect: Engine["dialect"];
  /** The jobs of events, by their members. */
  readonly #events = new Map<string, number[]>();

  constructor(
    { removeEnded, storeJobs, trimRecords, dialect, spreadsLater }: Pick<
      Engine,
      "removeEnded" | "storeJobs" | "trimRecords" | "dialect" | "spreadsLater"
    >,
  ) {
    this.#trimRecords = trimRecords;
    this.#dialect = dialect;
    this.#removeEnded = removeEnded;
    this.#storeJobs = storeJobs;
    this.batches = new BatchChanges(storeJobs, spreadsLater);
  }

  /** Ends jobs that have succeeded and leave nothing but their rows. */
  noteSucceeded(jobs: readonly number[]): void {
    if (jobs.length === 0) return;
    this.#ended.push(...jobs);
    this.#noteEvent(DEFAULT_ENDS.ack, ...jobs);
  }

  /** Ends a job as its worker reports, which knows what the job holds: its payload isn't read. `bury` leaves it to be dead. */
  *noteOutcome(job: number, outcome: Outcome): Body<void> {
    const { kind, jid, unlock, occurrence, batch, parent, steps, record, follow, event } = outcome;
    if (kind === "ack" || kind === "discard" || kind === "bury") this.#noteEvent(event ?? DEFAULT_ENDS[kind], job);
    if (batch !== undefined) this.batches.noteMember(batch);
    if (parent !== undefined) this.#answers.push(parent);
    if (unlock !== undefined && jid === undefined) yield* keys.unlock(unlock, jid);
    if (unlock !== undefined && jid !== undefined) this.#unlocks.push([unlock, jid]);
    if (occurrence !== undefined && jid !== undefined) this.#occurrences.push(jid);
    if (record !== undefined) this.noteRecord(record);
    if (follow !== undefined) this.#follow.push(...follow);
    if (kind === "bury" && steps && jid !== undefined) {
      this.#died.push(jid);
      this.#leaving.push(jid);
    }
    if (kind !== "ack" && kind !== "discard") return;
    if (batch === undefined) this.#ended.push(job);
    else this.#gone.push(job);
    if (steps && jid !== undefined) this.#withSteps.push(jid);
  }

  /** Keeps the record of an ended job. */
  noteRecord(record: NewRecord): void {
    this.#records.set(record.jid, record);
  }

  /**
   * Ends a job that an operator has taken out of its place.
   *
   * @param how how its batch counts it; `dead`: it goes there, and keeps its steps; `moved`: it continues in another store, so
   *   neither its batch nor the step that waits for it learns of an end
   */
  *noteRow(row: JobRow, how: MemberEnd | "dead" | "moved", now: number): Body<void> {
    yield* keys.unlockOf(row.jid);
    if (row.jid !== null) this.#occurrences.push(row.jid);
    if (how !== "moved") {
      yield* failParentOf(row.payload, ENDED_BY[how] ?? "Deleted", now);
      this.batches.notePayload(row.payload, how);
    }
    if (how === "dead" || how === "cancelled") {
      this.#subscriptions ??= yield* subscribed();
      this.#follow.push(...followsOf(this.#subscriptions, row.payload, { type: how, at: now }));
      this.#noteEvent(endMembers(how), row.id);
    }
    const hasSteps = row.jid !== null && row.payload.includes(`"${STEPS_FIELD}"`);
    if (hasSteps) (how === "dead" ? this.#died : this.#withSteps).push(row.jid);
    if (how === "dead" && row.jid !== null) this.#leaving.push(row.jid);
    if (how === "dead") return;
    this.#gone.push(row.id);
  }

  /** Drops dead jobs, which hold no locks: only what is read here may be left of them. */
  *noteDropped(ids: readonly number[]): Body<void> {
    for (const { where, values } of inParts(ids, "id")) {
      const rows = yield query(`SELECT jid, payload FROM job WHERE ${where} AND (payload LIKE ${MARKED})`, values);
      for (const { jid, payload } of rows as unknown as readonly JobRow[]) {
        this.batches.notePayload(payload, "deleted");
        if (jid !== null && payload.includes(`"${STEPS_FIELD}"`)) this.#withSteps.push(jid);
      }
    }
    this.#gone.push(...ids);
  }

  #noteEvent(members: string, ...jobs: readonly number[]): void {
    const known = this.#events.get(members);
    if (known === undefined) this.#events.set(members, [...jobs]);
    else known.push(...jobs);
  }

  /** Removes the jobs that are gone, and applies what follows. */
  *apply(now: number): Body<void> {
    for (const answer of this.#answers.splice(0)) yield* answerStep(answer, now);
    yield* keys.unlockAll(this.#dialect, this.#unlocks);
    yield* results.add(this.#dialect, [...this.#records.values()], now);
    for (const [members, jobs] of this.#events) yield* recordEnds(this.#dialect, jobs, members, now);
    this.#events.clear();
    yield* remove(this.#gone);
    yield* this.#removeEnded(this.#ended);
    yield* forgetSteps(this.#withSteps);
    yield* leaveWaiting(this.#leaving);
    yield* endLive(this.#occurrences.splice(0));
    if (this.#records.size > 0) yield* this.#trimRecords(now);
    if (this.#follow.length > 0) yield* this.#storeJobs(this.#follow.splice(0), now);
    yield* endStreams([...this.#withSteps, ...this.#died], now);
    yield* this.batches.apply(now);
  }
}

/** The members of events of outcomes without others. */
const DEFAULT_ENDS = { ack: endMembers("succeeded"), discard: endMembers("failed"), bury: endMembers("dead") } as const;

/** Deletes the steps of jobs. */
function* forgetSteps(jids: readonly string[]): Body<void> {
  for (const { where, values } of inTexts(jids, "jid")) {
    yield query(`DELETE FROM step WHERE ${where}`, values);
    yield query(`DELETE FROM step_wait WHERE ${where}`, values);
  }
}

/** Drops dead jobs beyond the limits of age and number, earliest first. Returns how many. */
export function* trimDead(engine: Engine, now: number): Body<number> {
  const old = yield* drop(
    engine,
    yield query("SELECT job FROM member WHERE place = 'dead' AND at < ?1 ORDER BY at, job LIMIT ?2", [
      now - engine.deadMaxAgeMs,
      MAX_DROPPED,
    ]),
    now,
  );
  let over = Math.min(yield* surplus(engine), MAX_DROPPED);
  if (over <= 0) return old;
  // Another transaction may be dropping the same ones.
  yield hold("SELECT 1 FROM member WHERE place = 'dead' ORDER BY at, job LIMIT ?1 FOR UPDATE", [over]);
  over = Math.min(over, yield* surplus(engine));
  if (over <= 0) return old;
  const oldest = yield query("SELECT job FROM member WHERE place = 'dead' ORDER BY at, job LIMIT ?1", [over]);
  return old + (yield* drop(engine, oldest, now));
}

/** Returns how many dead jobs are too many. */
function* surplus({ deadMaxJobs }: Engine): Body<number> {
  const [dead] = yield query("SELECT size FROM set_size WHERE place = 'dead'");
  return Number(dead!.size) - deadMaxJobs;
}

function* drop(engine: Engine, rows: readonly Row[], now: number): Body<number> {
  const dropped: number[] = [];
  for (const { where, values } of inParts(rows.map(({ job }) => Number(job)), "job")) {
    // Another transaction may have dropped some of them.
    const gone = yield query(`DELETE FROM member WHERE ${where} AND place = 'dead' RETURNING job`, values);
    for (const { job } of gone) dropped.push(Number(job));
  }
  const ends = new JobEnds(engine);
  yield* ends.noteDropped(dropped);
  yield* ends.apply(now);
  return dropped.length;
}
