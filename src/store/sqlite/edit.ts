/**
 * The edits of an operator: requeue, kill, delete.
 *
 * @module
 */
import { uncounted } from "../../job/payload_edits.ts";
import type { Cancellation, Edit, PlaceSelection } from "../port/entries.ts";
import { ByteBudget } from "../port/batch_bytes.ts";
import { COUNTED_FIELD, countedAs, countedIn } from "../../job/batch.ts";
import { runNow } from "../sql/body.ts";
import type { EntryRow } from "../sql/entries.ts";
import * as entries from "../sql/entries.ts";
import * as jobRows from "../sql/job_rows.ts";
import { cursorAt, readFirst } from "../sql/pages.ts";
import * as queues from "../sql/queue_rows.ts";
import type { Context } from "./context.ts";
import { JobEnds } from "./job_ends.ts";
import { trimDead } from "./job_ends.ts";
import { toBack } from "./promote.ts";

/** An edit of a row, and the state of its transaction. */
interface RowEdit {
  readonly edit: Edit | Cancellation;
  readonly now: number;
  readonly queue: string | undefined;
  readonly ends: JobEnds;
}

/** See `JobStore.edit`. */
export async function edit(
  context: Context,
  selection: readonly string[] | PlaceSelection,
  edit: Edit | Cancellation,
  queue?: string,
): Promise<number> {
  if ("in" in selection) return await editPlace(context, selection, edit, queue);
  const all = [...new Set(selection)];
  let count = 0;
  for (let from = 0; from < all.length;) {
    const step = await context.commit.run(() => {
      const rows = locate(context, all.slice(from));
      return { looked: rows.length, edited: apply(context, rows.filter((row) => row !== undefined), edit, queue) };
    }, { rows: all.length - from });
    from += step.looked;
    count += step.edited;
  }
  return count;
}

/** Returns the rows that the first of these refs name, up to 4 MiB of payloads. */
function locate(context: Context, refs: readonly string[]): (EntryRow | undefined)[] {
  const budget = new ByteBudget();
  const rows: (EntryRow | undefined)[] = [];
  for (const ref of refs) {
    const row = runNow(entries.locate(ref), context.sql);
    if (row && !budget.spend(row.payload)) break;
    rows.push(row);
  }
  return rows;
}

async function editPlace(
  context: Context,
  { in: place, limit }: PlaceSelection,
  edit: Edit | Cancellation,
  queue: string | undefined,
): Promise<number> {
  // It would never end: the jobs stay in the queue.
  if (edit === "requeue" && place.in === "queue") return 0;
  return await context.commit.run(() => {
    let count = 0;
    let cursor: string | undefined;
    while (count < limit) {
      const budget = new ByteBudget();
      const rows = runNow(readFirst(place, { cursor, limit: limit - count, budget }), context.sql);
      if (rows.length === 0) break;
      // Continue after the rows that can't be edited.
      cursor = cursorAt(rows.at(-1)!);
      count += apply(context, rows, edit, queue);
      if (budget.isSpent && count > 0) break;
    }
    return count;
  }, { rows: limit });
}

/** Deletes an entry that is now in another store; inside a transaction. Returns false if it has moved. */
export function removeMoved(context: Context, ref: string): boolean {
  const row = runNow(entries.locate(ref), context.sql);
  if (row === undefined || row.place === "running") return false;
  takeOut(context, row);
  const ends = new JobEnds(context);
  ends.noteRow(row, "moved");
  ends.apply(context.now());
  return true;
}

function apply(context: Context, rows: readonly EntryRow[], edit: Edit | Cancellation, queue?: string): number {
  const now = context.now();
  const ends = new JobEnds(context);
  const count = rows.filter((row) => applyTo(context, row, { edit, now, queue, ends })).length;
  ends.apply(now);
  if (edit === "kill" && count > 0) trimDead(context, now);
  return count;
}

function applyTo(context: Context, row: EntryRow, { edit, now, queue, ends }: RowEdit): boolean {
  if (row.place === "running") return false;
  if (typeof edit === "object") {
    takeOut(context, row);
    ends.noteRow(row, "cancelled");
    ends.noteRecord(edit.cancel, now);
    return true;
  }
  switch (edit) {
    case "delete":
      takeOut(context, row);
      ends.noteRow(row, "deleted");
      return true;
    case "kill":
      if (row.place === "dead") return false;
      takeOut(context, row);
      runNow(jobRows.addTo("dead", now, row.id), context.sql);
      ends.noteRow(row, "dead");
      if (countedIn(row.payload)?.counted === "pending") {
        // So that its batch counts its death once.
        runNow(jobRows.rewrite(row.id, countedAs(row.payload, "dead")), context.sql);
      }
      return true;
    case "requeue": {
      const batch = countedIn(row.payload);
      const changes = {
        ...((row.place === "retry" || row.place === "dead") && uncounted(row.payload)),
        ...(queue !== undefined && { queue: JSON.stringify(queue) }),
        ...(batch?.counted === "dead" && { [COUNTED_FIELD]: `"pending"` }),
      };
      if (!toBack(context, row, changes, now)) return false;
      takeOut(context, row);
      ends.batches.notePayload(row.payload, "pending");
      return true;
    }
  }
}

/** Removes a job from its place; inside a transaction. The caller puts it in another one, or deletes it. */
export function takeOut(context: Context, { queue, id }: EntryRow): void {
  if (queue === null) runNow(jobRows.removeFromSet(id), context.sql);
  else runNow(queues.remove(runNow(queues.idOf(queue), context.sql), id), context.sql);
}
