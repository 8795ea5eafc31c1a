/**
 * The counters of batches, as the jobs change them. All of it inside transactions.
 *
 * A step notes what becomes of members, and applies it once at its end: one update for each batch, however many members.
 *
 * @module
 */
import { type BatchEvent, countedIn, type MemberEnd } from "../../job/batch.ts";
import type { BatchRow, BatchSpec, Counter } from "../ops/batch_record.ts";
import type { BatchMember, BatchRefusal } from "../port/batches.ts";
import type { NewJob } from "../port/jobs.ts";
import type { Context } from "./context.ts";

/** The counters of batches. */
export class BatchCounters {
  readonly #context: Context;
  readonly #push: (jobs: readonly NewJob[], now: number) => void;

  /** @param push stores jobs, inside the transaction */
  constructor(context: Context, push: (jobs: readonly NewJob[], now: number) => void) {
    this.#context = context;
    this.#push = push;
  }

  /** Returns the row of a batch. */
  row(id: string): BatchRow | undefined {
    return this.#context.sql("SELECT * FROM batch WHERE id = ?").get(id) as BatchRow | undefined;
  }

  /** Returns why a batch doesn't accept a member. */
  refusal({ id, by }: BatchMember): BatchRefusal | undefined {
    const row = this.row(id);
    if (row === undefined) return "missing";
    if (row.closed_as === null) return undefined;
    // The lease of the member that adds it keeps the batch above zero.
    return row.closed_as === "closed" && by !== undefined && row.pending > 0 ? undefined : row.closed_as;
  }

  /** Begins what one step changes. A step that fails leaves nothing noted for the next one. */
  begin(): BatchChanges {
    return new BatchChanges(this.#context, this, this.#push);
  }
}

/** What one step changes. Apply it in the same transaction. */
export class BatchChanges {
  readonly #context: Context;
  readonly #counters: BatchCounters;
  readonly #push: (jobs: readonly NewJob[], now: number) => void;
  /** Changes of counters, by batch. Undefined until there is one: most jobs have no batch. */
  #noted: Map<string, Map<Counter | "total", number>> | undefined;

  constructor(context: Context, counters: BatchCounters, push: (jobs: readonly NewJob[], now: number) => void) {
    this.#context = context;
    this.#counters = counters;
    this.#push = push;
  }

  /** Notes what becomes of a member. `from` undefined: it is new. */
  note(id: string, from: Counter | undefined, to: Counter): void {
    if (from === to) return;
    this.#noted ??= new Map();
    let changes = this.#noted.get(id);
    if (changes === undefined) this.#noted.set(id, changes = new Map());
    const first = from ?? "total";
    changes.set(first, (changes.get(first) ?? 0) + (from === undefined ? 1 : -1));
    changes.set(to, (changes.get(to) ?? 0) + 1);
  }

  /** Notes that a job leaves the store, if it is a member of a batch. */
  noteEnd(payload: string, to: MemberEnd): void {
    const counted = countedIn(payload);
    if (counted !== undefined) this.note(counted.id, counted.counted, to);
  }

  /** Applies what was noted, and pushes the callbacks whose time has come; also those of the batches above. */
  apply(now: number): void {
    while (this.#noted !== undefined) {
      const all = this.#noted;
      this.#noted = undefined;
      for (const [id, changes] of all) {
        this.#add(id, changes);
        this.#advance(id, now, changes.has("total"));
      }
    }
  }

  /** Does what follows from the counters of a batch as they are now. */
  advance(id: string, now: number): void {
    this.#advance(id, now, false);
    this.apply(now);
  }

  #advance(id: string, now: number, hasGrown: boolean): void {
    const row = this.#counters.row(id);
    if (row === undefined) return;
    const { sql } = this.#context;
    const { closed_as: closedAs, pending, dead, failed } = row;
    const fire = (event: BatchEvent, isPushed = true) => {
      sql(`UPDATE batch SET ${event}_at = ? WHERE id = ?`).run(now, id);
      if (isPushed) this.#pushCallback(row, event, now);
    };
    if (dead + failed > 0 && row.death_at === null) fire("death");
    if (closedAs === "abandoned" && row.abandoned_at === null) fire("abandoned");
    const isEnded = closedAs !== null && pending === 0;
    // It is not known what an abandoned batch lacks: it is neither complete nor a success.
    if (isEnded && row.complete_at === null) fire("complete", closedAs !== "abandoned");
    const hasSucceeded = isEnded && closedAs === "closed" && row.succeeded === row.total;
    if (hasSucceeded && row.success_at === null) fire("success");
    const isFinished = isEnded && dead === 0;
    if (closedAs === null ? hasGrown : isFinished !== (row.due !== null)) {
      const due = closedAs === null ? now + row.close_within : isFinished ? now + row.keep : null;
      sql("UPDATE batch SET due = ? WHERE id = ?").run(due, id);
    }
    if (row.parent === null || row.counted === null) return;
    const ended = hasSucceeded ? "succeeded" : closedAs === "cancelled" ? "cancelled" : "failed";
    const counted = !isEnded ? "pending" : dead > 0 ? "dead" : ended;
    if (counted === row.counted) return;
    sql("UPDATE batch SET counted = ? WHERE id = ?").run(counted, id);
    this.note(row.parent, row.counted, counted);
  }

  #add(id: string, changes: ReadonlyMap<Counter | "total", number>): void {
    const sets = [...changes].filter(([, by]) => by !== 0).sort();
    // A batch that is no longer there counts nothing.
    this.#context.sql(
      `UPDATE batch SET version = version + 1${sets.map(([name]) => `, ${name} = ${name} + ?`).join("")} WHERE id = ?`,
    ).run(...sets.map(([, by]) => by), id);
  }

  #pushCallback({ spec, parent }: BatchRow, event: BatchEvent, now: number): void {
    const callback = (JSON.parse(spec) as BatchSpec).callbacks[event];
    if (callback === undefined) return;
    this.#push([callback], now);
    // The batch above waits for the callbacks of this one.
    if (parent !== null) this.note(parent, undefined, "pending");
  }
}
