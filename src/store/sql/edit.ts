/**
 * The edits of an operator: requeue, kill, delete.
 *
 * @module
 */
import { COUNTED_FIELD, countedAs, countedIn } from "../../job/batch.ts";
import { uncounted } from "../../job/payload_edits.ts";
import type { Cancellation, Edit, PlaceSelection, SetName } from "../port/entries.ts";
import { ByteBudget } from "../port/batch_bytes.ts";
import { STEPS_FIELD } from "../../job/step.ts";
import { type Body, type Engine, lock } from "./body.ts";
import type { EntryRow } from "./entries.ts";
import * as entries from "./entries.ts";
import { JobEnds, trimDead } from "./job_ends.ts";
import * as jobRows from "./job_rows.ts";
import { cursorAt, readFirst } from "./pages.ts";
import { enqueuedNow, toBack } from "./promote.ts";
import * as queues from "./queue_rows.ts";
import { parentIn, sleepLock } from "./step_rows.ts";

/** An edit of a row, and the state of its transaction. */
interface RowEdit {
  readonly edit: Edit | Cancellation;
  readonly now: number;
  readonly queue: string | undefined;
  readonly ends: JobEnds;
}

/** See `JobStore.edit`. */
export async function edit(
  engine: Engine,
  selection: readonly string[] | PlaceSelection,
  edit: Edit | Cancellation,
  queue?: string,
): Promise<number> {
  if ("in" in selection) return await editPlace(engine, selection, edit, queue);
  const all = [...new Set(selection)];
  let count = 0;
  for (let from = 0; from < all.length;) {
    const step = await engine.write(function* (now) {
      const rows = yield* locate(all.slice(from));
      const found = yield* holdRows(engine, rows.filter((row) => row !== undefined));
      return { looked: rows.length, edited: yield* apply(engine, found, edit, queue, now) };
    }, { rows: all.length - from });
    from += step.looked;
    count += step.edited;
  }
  return count;
}

/** Returns the rows that the first of these refs name, up to 4 MiB of payloads. */
function* locate(refs: readonly string[]): Body<(EntryRow | undefined)[]> {
  const budget = new ByteBudget();
  const rows: (EntryRow | undefined)[] = [];
  for (const ref of refs) {
    const row = yield* entries.locate(ref);
    if (row && !budget.spend(row.payload)) break;
    rows.push(row);
  }
  return rows;
}

async function editPlace(
  engine: Engine,
  { in: place, limit }: PlaceSelection,
  edit: Edit | Cancellation,
  queue: string | undefined,
): Promise<number> {
  // It would never end: the jobs stay in the queue.
  if (edit === "requeue" && place.in === "queue") return 0;
  return await engine.write(function* (now) {
    let count = 0;
    let cursor: string | undefined;
    while (count < limit) {
      const budget = new ByteBudget();
      const rows = yield* readFirst(place, { cursor, limit: limit - count, budget });
      if (rows.length === 0) break;
      // Continue after the rows that can't be edited.
      cursor = cursorAt(rows.at(-1)!);
      count += yield* apply(engine, yield* holdRows(engine, rows), edit, queue, now);
      if (budget.isSpent && count > 0) break;
    }
    return count;
  }, { rows: limit });
}

/** Returns the rows as they are now. They stay in their places until the transaction ends, and their steps don't change. */
export function* holdRows(engine: Engine, rows: readonly EntryRow[]): Body<readonly EntryRow[]> {
  const sleeps = rows.flatMap(({ jid, payload }) => [
    ...(jid !== null && payload.includes(`"${STEPS_FIELD}"`) ? [sleepLock(jid)] : []),
    ...(parentIn(payload)?.jid !== undefined ? [sleepLock(parentIn(payload)!.jid)] : []),
  ]);
  if (sleeps.length > 0) yield lock(...sleeps);
  return yield* engine.holdEntries(rows);
}

/** Deletes an entry that is now in another store. Returns false if it has moved, or has another payload. */
export function* removeMoved(engine: Engine, ref: string, payload: string, now: number): Body<boolean> {
  const found = yield* entries.locate(ref);
  if (found?.payload !== payload || found.place === "running") return false;
  const [row] = yield* holdRows(engine, [found]);
  if (row?.payload !== payload || !(yield* takeOut(engine, row))) return false;
  const ends = new JobEnds(engine);
  yield* ends.noteRow(row, "moved", now);
  yield* ends.apply(now);
  return true;
}

function* apply(
  engine: Engine,
  rows: readonly EntryRow[],
  edit: Edit | Cancellation,
  queue: string | undefined,
  now: number,
): Body<number> {
  const ends = new JobEnds(engine);
  let count = 0;
  for (const row of rows) if (yield* applyTo(engine, row, { edit, now, queue, ends })) count++;
  yield* ends.apply(now);
  if (edit === "kill" && count > 0) yield* trimDead(engine, now);
  return count;
}

function* applyTo(engine: Engine, row: EntryRow, { edit, now, queue, ends }: RowEdit): Body<boolean> {
  if (row.place === "running") return false;
  if (typeof edit === "object") {
    if (!(yield* takeOut(engine, row))) return false;
    yield* ends.noteRow(row, "cancelled", now);
    ends.noteRecord(edit.cancel);
    return true;
  }
  switch (edit) {
    case "delete":
      if (!(yield* takeOut(engine, row))) return false;
      yield* ends.noteRow(row, "deleted", now);
      return true;
    case "kill":
      if (row.place === "dead" || !(yield* takeOut(engine, row))) return false;
      yield* jobRows.addTo("dead", now, row.id);
      yield* ends.noteRow(row, "dead", now);
      if (countedIn(row.payload)?.counted === "pending") {
        // So that its batch counts its death once.
        yield* jobRows.rewrite(row.id, countedAs(row.payload, "dead"));
      }
      return true;
    case "requeue": {
      const batch = countedIn(row.payload);
      const changes = {
        ...((row.place === "retry" || row.place === "dead") && uncounted(row.payload)),
        ...(queue !== undefined && { queue: JSON.stringify(queue) }),
        ...(batch?.counted === "dead" && { [COUNTED_FIELD]: `"pending"` }),
      };
      const payload = enqueuedNow(engine, row.payload, now, changes);
      if (payload === undefined || !(yield* takeOut(engine, row))) return false;
      yield* toBack(engine, row, payload);
      ends.batches.notePayload(row.payload, "pending");
      return true;
    }
  }
}

/** Removes a job from its place. The caller puts it in another one, or deletes it. Returns false if it has left it. */
export function* takeOut(engine: Engine, { queue, id, place }: EntryRow): Body<boolean> {
  // Another edit may have moved it to another set.
  if (queue === null) return yield* jobRows.removeFromSet(id, place as SetName);
  return yield* queues.remove(engine, queue, id);
}
