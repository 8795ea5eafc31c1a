/**
 * What operators do to jobs: requeue, kill, delete.
 *
 * @module
 */
import { uncounted } from "../../job/payload_edits.ts";
import type { Edit, Place } from "../admin/admin.ts";
import { ByteBudget } from "../port/batch_bytes.ts";
import { COUNTED_FIELD, countedAs, countedIn, type MemberEnd } from "../../job/batch.ts";
import type { BatchChanges, BatchCounters } from "./batch_rows.ts";
import type { Context } from "./context.ts";
import type { Entries, EntryRow } from "./entries.ts";
import type { Jobs } from "./job_rows.ts";
import { cursorAt, type Pages } from "./pages.ts";
import type { Promotion } from "./promote.ts";
import type { Queues } from "./take.ts";
import type { Sets } from "./sets.ts";
import { failParentOf, forgetStepsOf } from "./step_rows.ts";
import type { UniqueLocks } from "./unique_locks.ts";

/** What to do with a row, in which step. */
interface RowEdit {
  readonly edit: Edit;
  readonly now: number;
  readonly queue: string | undefined;
  readonly batches: BatchChanges;
}

/** Edits jobs, each only where its name says it is. */
export class Editor {
  readonly #context: Context;
  readonly #jobs: Jobs;
  readonly #queues: Queues;
  readonly #entries: Entries;
  readonly #pages: Pages;
  readonly #promotion: Promotion;
  readonly #sets: Sets;
  readonly #locks: UniqueLocks;
  readonly #batches: BatchCounters;

  constructor(
    context: Context,
    parts: {
      jobs: Jobs;
      queues: Queues;
      entries: Entries;
      pages: Pages;
      promotion: Promotion;
      sets: Sets;
      locks: UniqueLocks;
      batches: BatchCounters;
    },
  ) {
    this.#context = context;
    this.#jobs = parts.jobs;
    this.#queues = parts.queues;
    this.#entries = parts.entries;
    this.#pages = parts.pages;
    this.#promotion = parts.promotion;
    this.#sets = parts.sets;
    this.#locks = parts.locks;
    this.#batches = parts.batches;
  }

  /** See `AdminStore.edit`. */
  async edit(refs: readonly string[], edit: Edit, queue?: string): Promise<number> {
    const all = [...new Set(refs)];
    let count = 0;
    for (let from = 0; from < all.length;) {
      const step = await this.#context.commit.run(() => {
        const rows = this.#locate(all.slice(from));
        return { looked: rows.length, edited: this.#apply(rows.filter((row) => row !== undefined), edit, queue) };
      }, { rows: all.length - from });
      from += step.looked;
      count += step.edited;
    }
    return count;
  }

  /** The rows that the first of these refs name, until the payloads come to 4 MiB. */
  #locate(refs: readonly string[]): (EntryRow | undefined)[] {
    const budget = new ByteBudget();
    const rows: (EntryRow | undefined)[] = [];
    for (const ref of refs) {
      const row = this.#entries.locate(ref);
      if (row && !budget.spend(row.payload)) break;
      rows.push(row);
    }
    return rows;
  }

  /** See `AdminStore.editSome`. */
  editSome(place: Place, edit: Edit, limit: number): Promise<number> {
    // It would never come to an end.
    if (edit === "requeue" && place.in === "queue") return Promise.resolve(0);
    return this.#context.commit.run(() => {
      let count = 0;
      let cursor: string | undefined;
      while (count < limit) {
        const budget = new ByteBudget();
        const request = { limit: limit - count, ...(cursor !== undefined && { cursor }) };
        const rows = this.#pages.rows(place, request, budget);
        if (rows.length === 0) break;
        // What cannot be edited must not stand in the way of what can.
        cursor = cursorAt(rows.at(-1)!);
        count += this.#apply(rows, edit);
        if (budget.isSpent && count > 0) break;
      }
      return count;
    }, { rows: limit });
  }

  /**
   * Deletes one, inside a transaction; false when it is there no longer.
   *
   * @param end how its batch counts it, and the step that waits for it ends. Default: not at all, because it continues in another store
   */
  delete(ref: string, end?: MemberEnd): boolean {
    const row = this.#entries.locate(ref);
    if (row === undefined || row.place === "leased") return false;
    this.#delete(row);
    if (end === undefined) return true;
    failParentOf(this.#context, row.payload, "Deleted");
    const batches = this.#batches.begin();
    batches.noteEnd(row.payload, end);
    batches.apply(this.#context.now());
    return true;
  }

  #apply(rows: readonly EntryRow[], edit: Edit, queue?: string): number {
    const now = this.#context.now();
    const batches = this.#batches.begin();
    const count = rows.filter((row) => this.#applyTo(row, { edit, now, queue, batches })).length;
    if (edit === "kill" && count > 0) this.#sets.trimDead(now);
    batches.apply(now);
    return count;
  }

  #applyTo(row: EntryRow, { edit, now, queue, batches }: RowEdit): boolean {
    if (row.place === "leased") return false;
    switch (edit) {
      case "delete":
        this.#delete(row);
        failParentOf(this.#context, row.payload, "Deleted");
        batches.noteEnd(row.payload, "deleted");
        return true;
      case "kill":
        if (row.place === "dead") return false;
        this.#takeOut(row);
        this.#sets.add("dead", now, row.id);
        this.#locks.releaseOf(row.jid);
        failParentOf(this.#context, row.payload, "Killed");
        this.#noteDeath(row, batches);
        return true;
      case "requeue": {
        const batch = countedIn(row.payload);
        const changes = {
          ...((row.place === "retry" || row.place === "dead") && uncounted(row.payload)),
          ...(queue !== undefined && { queue: JSON.stringify(queue) }),
          ...(batch?.counted === "dead" && { [COUNTED_FIELD]: `"pending"` }),
        };
        if (!this.#promotion.toBack(row, changes, now)) return false;
        this.#takeOut(row);
        if (batch !== undefined) batches.note(batch.id, batch.counted, "pending");
        return true;
      }
    }
  }

  #delete(row: EntryRow): void {
    this.#takeOut(row);
    this.#jobs.delete([row.id]);
    this.#locks.releaseOf(row.jid);
    forgetStepsOf(this.#context, row.payload);
  }

  /** A member of a batch is marked when it is killed, so that the batch counts it once. */
  #noteDeath({ id, payload }: EntryRow, batches: BatchChanges): void {
    const batch = countedIn(payload);
    if (batch?.counted !== "pending") return;
    this.#jobs.rewrite(id, countedAs(payload, "dead"));
    batches.note(batch.id, "pending", "dead");
  }

  #takeOut({ queue, id }: EntryRow): void {
    if (queue === null) this.#sets.remove(id);
    else this.#queues.remove(this.#queues.idOf(queue), id);
  }
}
