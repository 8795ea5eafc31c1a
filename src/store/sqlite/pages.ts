/**
 * Lists in pages. A cursor names the last entry of the previous page, so that all pages cost the same.
 *
 * @module
 */
import type { Page, PageRequest, Place } from "../port/entries.ts";
import { ByteBudget } from "../port/batch_bytes.ts";
import { nameOf } from "../port/groups.ts";
import { CursorError } from "../port/cursor.ts";
import { BoundedRead } from "../sql/bounded_read.ts";
import type { Context } from "./context.ts";
import { type EntryRow, toEntry } from "./entries.ts";

const DEFAULT_LIMIT = 25;

/** A page begins after the entry with this time and number. */
export interface Position {
  readonly at: number;
  readonly id: number;
}

/** See `AdminStore.page`. */
export function readPage(context: Context, place: Place, request: PageRequest = {}): Page {
  const limit = request.limit ?? DEFAULT_LIMIT;
  const budget = new ByteBudget();
  const rows = readRows(context, place, { ...request, limit: limit + 1 }, budget);
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const hasMore = rows.length > limit || budget.isSpent;
  return { entries: shown.map(toEntry), ...(hasMore && last && { next: cursorAt(last) }) };
}

/** Reads the rows of a page, up to the budget. */
export function readRows(
  context: Context,
  place: Place,
  { cursor, limit = DEFAULT_LIMIT, reverse = false }: PageRequest,
  budget: ByteBudget,
): EntryRow[] {
  const found = new BoundedRead<EntryRow>({ limit, budget }, ({ payload }) => payload);
  while (found.wanted > 0) {
    const after = parseCursor(found.last ? cursorAt(found.last) : cursor, reverse);
    found.add(readStep(context, place, { after, limit: found.wanted, reverse }));
  }
  return found.rows;
}

function readStep(
  context: Context,
  place: Place,
  { after, limit, reverse }: { readonly after: Position; readonly limit: number; readonly reverse: boolean },
): EntryRow[] {
  const { sql } = context;
  const direction = reverse ? "DESC" : "ASC";
  const beyond = reverse ? "<" : ">";
  switch (place.in) {
    case "queue":
      return sql(
        `SELECT job.id, jid, payload, 'queue' AS place, ?1 AS queue, NULL AS at, NULL AS worker
         FROM queued CROSS JOIN job ON job.id = queued.job
         WHERE queued.queue = (SELECT id FROM queue WHERE name = ?1) AND queued.job ${beyond} ?2
         ORDER BY queued.job ${direction} LIMIT ?3`,
      ).all(nameOf(place.queue, place.group), after.id, limit) as unknown as EntryRow[];
    case "running":
      return sql(
        `SELECT job.id, jid, payload, 'running' AS place, NULL AS queue, lease.at, worker
         FROM lease CROSS JOIN job ON job.id = lease.job CROSS JOIN lease_worker ON lease_worker.id = worker_id
         WHERE lease.job ${beyond} ? ORDER BY lease.job ${direction} LIMIT ?`,
      ).all(after.id, limit) as unknown as EntryRow[];
    default:
      return sql(
        `SELECT job.id, jid, payload, place, NULL AS queue, member.at, NULL AS worker
         FROM member CROSS JOIN job ON job.id = member.job
         WHERE place = ? AND (member.at, member.job) ${beyond} (?, ?)
         ORDER BY member.at ${direction}, member.job ${direction} LIMIT ?`,
      ).all(place.in, after.at, after.id, limit) as unknown as EntryRow[];
  }
}

/** Returns the cursor of the page that begins after this row. */
export function cursorAt({ at, id }: EntryRow): string {
  return `${at ?? 0}.${id}`;
}

/** Returns the position after which a page begins. @throws {CursorError} if the cursor isn't one */
export function parseCursor(cursor: string | undefined, reverse: boolean): Position {
  if (cursor === undefined) {
    const edge = reverse ? Number.MAX_SAFE_INTEGER : Number.MIN_SAFE_INTEGER;
    return { at: edge, id: edge };
  }
  const [, at, id] = /^(-?\d{1,16})\.(\d{1,16})$/.exec(cursor) ?? [];
  if (at === undefined) throw new CursorError(cursor);
  return { at: Number(at), id: Number(id) };
}
