/**
 * The end of a job, in whatever way: everything that must happen then. All of it inside transactions.
 *
 * A step notes the ends of jobs, and applies them once: a statement for all jobs, as far as possible. That a lease is gone
 * makes its group ready; that is a trigger on the leases (`schema.sql`), so that it follows from every way to lose a lease.
 *
 * @module
 */
import { COUNTED_FIELD, type MemberEnd } from "../../job/batch.ts";
import { STEPS_FIELD } from "../../job/step.ts";
import type { Outcome } from "../port/outcomes.ts";
import { BatchChanges } from "../sql/batch_rows.ts";
import { type Body, runNow } from "../sql/body.ts";
import { endLive } from "../sql/cron.ts";
import { answerStep, type EndedBy, failParentOf, leaveWaiting } from "../sql/step_rows.ts";
import type { NewRecord } from "../port/results.ts";
import type { Context } from "./context.ts";
import { inParts } from "../sql/in_parts.ts";
import { type JobRow, remove } from "../sql/job_rows.ts";
import { storing } from "./new_jobs.ts";
import * as results from "../sql/results.ts";
import * as keys from "./push_keys.ts";

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
  readonly #context: Context;
  readonly #gone: number[] = [];
  readonly #withSteps: string[] = [];
  #hasRecords = false;

  constructor(context: Context) {
    this.#context = context;
    this.batches = new BatchChanges(storing(context));
  }

  /** Ends a job as its worker reports, which knows what the job holds: its payload isn't read. `bury` leaves it to be dead. */
  noteOutcome(job: number, outcome: Outcome, now: number): void {
    const { kind, jid, unlock, occurrence, batch, parent, steps, record } = outcome;
    if (batch !== undefined) this.batches.noteMember(batch);
    if (parent !== undefined) this.#run(answerStep(parent, now));
    if (unlock !== undefined) keys.unlock(this.#context, unlock, jid);
    if (occurrence !== undefined && jid !== undefined) this.#run(endLive(jid));
    if (record !== undefined) this.noteRecord(record, now);
    if (kind === "bury" && steps) this.#run(leaveWaiting(jid ?? null));
    if (kind !== "ack" && kind !== "discard") return;
    this.#gone.push(job);
    if (steps && jid !== undefined) this.#withSteps.push(jid);
  }

  /** Keeps the record of an ended job. */
  noteRecord(record: NewRecord, now: number): void {
    this.#run(results.add(record, now));
    this.#hasRecords = true;
  }

  /**
   * Ends a job that an operator has taken out of its place.
   *
   * @param how how its batch counts it; `dead`: it goes there, and keeps its steps; `moved`: it continues in another store, so
   *   neither its batch nor the step that waits for it learns of an end
   */
  noteRow(row: JobRow, how: MemberEnd | "dead" | "moved"): void {
    keys.unlockOf(this.#context, row.jid);
    if (how !== "moved") {
      this.#run(failParentOf(row.payload, ENDED_BY[how] ?? "Deleted", this.#context.now()));
      this.batches.notePayload(row.payload, how);
    }
    if (how === "dead") return this.#run(leaveWaiting(row.jid));
    this.#gone.push(row.id);
    if (row.jid !== null && row.payload.includes(`"${STEPS_FIELD}"`)) this.#withSteps.push(row.jid);
  }

  /** Drops dead jobs, which hold no locks: only what is read here may be left of them. */
  noteDropped(ids: readonly number[]): void {
    for (const { where, values } of inParts(ids, "id")) {
      const rows = this.#context.sql(
        `SELECT jid, payload FROM job WHERE ${where} AND (payload LIKE ${MARKED})`,
      ).all(...values) as unknown as JobRow[];
      for (const { jid, payload } of rows) {
        this.batches.notePayload(payload, "deleted");
        if (jid !== null && payload.includes(`"${STEPS_FIELD}"`)) this.#withSteps.push(jid);
      }
    }
    this.#gone.push(...ids);
  }

  /** Removes the jobs that are gone, and applies what follows. */
  apply(now: number): void {
    this.#run(remove(this.#gone));
    forgetSteps(this.#context, this.#withSteps);
    if (this.#hasRecords) this.#run(results.trim(now));
    this.#run(this.batches.apply(now));
  }

  #run(body: Body<unknown>): void {
    runNow(body, this.#context.sql);
  }
}

/** Deletes the steps of jobs. */
function forgetSteps({ sql }: Context, jids: readonly string[]): void {
  if (jids.length === 0) return;
  const all = JSON.stringify(jids);
  sql("DELETE FROM step WHERE jid IN (SELECT value FROM json_each(?))").run(all);
  sql("DELETE FROM step_wait WHERE jid IN (SELECT value FROM json_each(?))").run(all);
}

/** Drops dead jobs beyond the limits of age and number, earliest first; inside a transaction. Returns how many. */
export function trimDead(context: Context, now: number): number {
  const { sql, deadMaxAgeMs, deadMaxJobs } = context;
  const drop = (rows: readonly Record<string, unknown>[]) => {
    const ids = rows.map(({ job }) => job as number);
    for (const { where, values } of inParts(ids, "job")) sql(`DELETE FROM member WHERE ${where}`).run(...values);
    const ends = new JobEnds(context);
    ends.noteDropped(ids);
    ends.apply(now);
    return ids.length;
  };
  const old = drop(
    sql("SELECT job FROM member WHERE place = 'dead' AND at < ? ORDER BY at, job LIMIT ?")
      .all(now - deadMaxAgeMs, MAX_DROPPED),
  );
  const over = Math.min(
    Number(sql("SELECT size FROM set_size WHERE place = 'dead'").get()!.size) - deadMaxJobs,
    MAX_DROPPED,
  );
  if (over <= 0) return old;
  return old + drop(sql("SELECT job FROM member WHERE place = 'dead' ORDER BY at, job LIMIT ?").all(over));
}
