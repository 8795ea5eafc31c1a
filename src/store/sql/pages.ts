/**
 * Lists in pages. A cursor names the last entry of the previous page, so that all pages cost the same.
 *
 * @module
 */
import type { MemberRequest } from "../admin/admin.ts";
import type { Page, PageRequest, Place } from "../port/entries.ts";
import { ByteBudget } from "../port/batch_bytes.ts";
import { nameOf } from "../port/groups.ts";
import { CursorError } from "../port/cursor.ts";
import { type Body, type Dialect, query, type Row } from "./body.ts";
import { BoundedRead } from "./bounded_read.ts";
import { type EntryRow, rowOf, toEntry } from "./entries.ts";

const DEFAULT_LIMIT = 25;

/** A page begins after the entry with this time and number. */
interface Position {
  readonly at: number;
  readonly id: number;
}

/** Reads rows of a list after a position. */
type ReadStep = (after: Position, limit: number) => Body<readonly Row[]>;

/** See `AdminStore.page`. */
export function* readPage(place: Place, { cursor, limit, reverse = false }: PageRequest): Body<Page> {
  return yield* pageOf((after, most) => readStep(place, after, most, reverse), cursor, limit, reverse);
}

/** See `AdminStore.members`. */
export function* readMembers(
  dialect: Dialect,
  batch: string,
  { cursor, limit, dead = false }: MemberRequest,
): Body<Page> {
  return yield* pageOf((after, most) => readMemberStep(dialect, batch, after, most, dead), cursor, limit);
}

function* pageOf(
  read: ReadStep,
  cursor: string | undefined,
  limit = DEFAULT_LIMIT,
  reverse = false,
): Body<Page> {
  const budget = new ByteBudget();
  const rows = yield* readRows(read, { cursor, limit: limit + 1, reverse, budget });
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const hasMore = rows.length > limit || budget.isSpent;
  return { entries: shown.map(toEntry), ...(hasMore && last && { next: cursorAt(last) }) };
}

/** Reads the first rows of a place after a cursor, as far as the budget allows. */
export function* readFirst(
  place: Place,
  { cursor, limit, budget }: {
    readonly cursor: string | undefined;
    readonly limit: number;
    readonly budget: ByteBudget;
  },
): Body<EntryRow[]> {
  return yield* readRows((after, most) => readStep(place, after, most, false), {
    cursor,
    limit,
    budget,
    reverse: false,
  });
}

function* readRows(
  read: ReadStep,
  { cursor, limit, reverse, budget }: {
    readonly cursor: string | undefined;
    readonly limit: number;
    readonly reverse: boolean;
    readonly budget: ByteBudget;
  },
): Body<EntryRow[]> {
  const found = new BoundedRead<EntryRow>({ limit, budget }, ({ payload }) => payload);
  while (found.wanted > 0) {
    const after = parseCursor(found.last ? cursorAt(found.last) : cursor, reverse);
    found.add(yield* read(after, found.wanted));
  }
  return found.rows;
}

/** The tables are joined in their order. */
function* readStep(place: Place, after: Position, limit: number, reverse: boolean): Body<readonly Row[]> {
  const direction = reverse ? "DESC" : "ASC";
  const beyond = reverse ? "<" : ">";
  switch (place.in) {
    case "queue": {
      const name = nameOf(place.queue, place.group);
      const rows = yield query(
        `SELECT job.id, jid, payload, 'queue' AS place, NULL AS at, NULL AS worker FROM queued CROSS JOIN job
         WHERE job.id = queued.job AND queued.queue = (SELECT id FROM queue WHERE name = ?1) AND queued.job ${beyond} ?2
         ORDER BY queued.job ${direction} LIMIT ?3`,
        [name, after.id, limit],
      );
      return rows.map((row) => ({ ...row, queue: name }));
    }
    case "running":
      return yield query(
        `SELECT job.id, jid, payload, 'running' AS place, NULL AS queue, lease.at, worker, lease.cancelled
         FROM lease CROSS JOIN job CROSS JOIN lease_worker
         WHERE job.id = lease.job AND lease_worker.id = worker_id AND lease.job ${beyond} ?1
         ORDER BY lease.job ${direction} LIMIT ?2`,
        [after.id, limit],
      );
    default:
      return yield query(
        `SELECT job.id, jid, payload, place, NULL AS queue, member.at, NULL AS worker FROM member CROSS JOIN job
         WHERE job.id = member.job AND place = ?1 AND (member.at, member.job) ${beyond} (?2, ?3)
         ORDER BY member.at ${direction}, member.job ${direction} LIMIT ?4`,
        [place.in, after.at, after.id, limit],
      );
  }
}

/** Reads by the index of batches: no other job of the store is read. */
function* readMemberStep(
  { isIn }: Dialect,
  batch: string,
  after: Position,
  limit: number,
  dead: boolean,
): Body<readonly Row[]> {
  const isDead = "AND EXISTS (SELECT 1 FROM member WHERE member.job = job.id AND place = 'dead')";
  const rows = yield query(
    `SELECT * FROM entry WHERE id ${
      isIn(`SELECT id FROM job WHERE batch = ?1 AND id > ?2 ${dead ? isDead : ""} ORDER BY id LIMIT ?3`)
    } ORDER BY id`,
    [batch, after.id, limit],
  );
  return rows.map((row): Row => ({ ...rowOf(row) }));
}

/** Returns the cursor of the page that begins after this row. */
export function cursorAt({ at, id }: EntryRow): string {
  return `${at ?? 0}.${id}`;
}

/** Returns the position after which a page begins. @throws {CursorError} if the cursor isn't one */
function parseCursor(cursor: string | undefined, reverse: boolean): Position {
  if (cursor === undefined) {
    const edge = reverse ? Number.MAX_SAFE_INTEGER : Number.MIN_SAFE_INTEGER;
    return { at: edge, id: edge };
  }
  const [, at, id] = /^(-?\d{1,16})\.(\d{1,16})$/.exec(cursor) ?? [];
  if (at === undefined) throw new CursorError(cursor);
  return { at: Number(at), id: Number(id) };
}
