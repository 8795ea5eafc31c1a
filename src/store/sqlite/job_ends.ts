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
import { runNow } from "../sql/body.ts";
import { endLive } from "../sql/cron.ts";
import type { NewRecord } from "../port/results.ts";
import { BatchChanges } from "./batch_rows.ts";
import type { Context } from "./context.ts";
import type { JobRow } from "./job_rows.ts";
import { inParts } from "./job_rows.ts";
import * as jobRows from "./job_rows.ts";
import * as results from "./results.ts";
import { answerStep, type EndedBy, failParentOf, forgetSteps, leaveWaiting } from "./step_rows.ts";
import * as locks from "./unique_locks.ts";

/** The class of the error in the step that waits for a job, by how the job ended; else `Deleted`. */
const ENDED_BY: Readonly<Record<string, EndedBy>> = { dead: "Killed", cancelled: "Cancelled" };

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
    this.batches = new BatchChanges(context);
  }

  /** Ends a job as its worker reports, which knows what the job holds: its payload isn't read. `bury` leaves it to be dead. */
  noteOutcome(job: number, outcome: Outcome, now: number): void {
    const { kind, jid, unlock, occurrence, batch, parent, steps, record } = outcome;
    if (batch !== undefined) this.batches.noteMember(batch);
    if (parent !== undefined) answerStep(this.#context, parent);
    if (unlock !== undefined) locks.release(this.#context, unlock, jid);
    if (occurrence !== undefined && jid !== undefined) runNow(endLive(jid), this.#context.sql);
    if (record !== undefined) this.noteRecord(record, now);
    if (kind === "bury" && steps) leaveWaiting(this.#context, jid ?? null);
    if (kind !== "ack" && kind !== "discard") return;
    this.#gone.push(job);
    if (steps && jid !== undefined) this.#withSteps.push(jid);
  }

  /** Keeps the record of an ended job. */
  noteRecord(record: NewRecord, now: number): void {
    results.add(this.#context, record, now);
    this.#hasRecords = true;
  }

  /**
   * Ends a job that an operator has taken out of its place.
   *
   * @param how how its batch counts it; `dead`: it goes there, and keeps its steps; `moved`: it continues in another store, so
   *   neither its batch nor the step that waits for it learns of an end
   */
  noteRow(row: JobRow, how: MemberEnd | "dead" | "moved"): void {
    locks.releaseOf(this.#context, row.jid);
    if (how !== "moved") {
      failParentOf(this.#context, row.payload, ENDED_BY[how] ?? "Deleted");
      this.batches.notePayload(row.payload, how);
    }
    if (how === "dead") return leaveWaiting(this.#context, row.jid);
    this.#gone.push(row.id);
    if (row.jid !== null && row.payload.includes(`"${STEPS_FIELD}"`)) this.#withSteps.push(row.jid);
  }

  /** Drops dead jobs, which hold no locks: only what is read here may be left of them. */
  noteDropped(ids: readonly number[]): void {
    inParts(ids, "id", (where, values) => {
      const rows = this.#context.sql(
        `SELECT jid, payload FROM job WHERE ${where} AND (instr(payload, ?) > 0 OR instr(payload, ?) > 0)`,
      ).all(...values, `"${COUNTED_FIELD}"`, `"${STEPS_FIELD}"`) as unknown as JobRow[];
      for (const { jid, payload } of rows) {
        this.batches.notePayload(payload, "deleted");
        if (jid !== null && payload.includes(`"${STEPS_FIELD}"`)) this.#withSteps.push(jid);
      }
    });
    this.#gone.push(...ids);
  }

  /** Removes the jobs that are gone, and applies what follows. */
  apply(now: number): void {
    jobRows.remove(this.#context, this.#gone);
    forgetSteps(this.#context, this.#withSteps);
    if (this.#hasRecords) results.trim(this.#context, now);
    this.batches.apply(now);
  }
}
