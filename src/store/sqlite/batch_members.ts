/**
 * The members of a batch, by their index: no other job of the store is read.
 *
 * @module
 */
import { countedIn } from "../../job/batch.ts";
import type { MemberRequest } from "../admin/admin.ts";
import type { Page } from "../port/entries.ts";
import { batchOf } from "../ops/batch_record.ts";
import type { MemberCount } from "../port/batches.ts";
import { row } from "../sql/batch_rows.ts";
import { runNow } from "../sql/body.ts";
import { BoundedRead } from "../sql/bounded_read.ts";
import { ByteBudget } from "../port/batch_bytes.ts";
import type { Context } from "./context.ts";
import { type EntryRow, toEntry } from "./entries.ts";
import { cursorAt, parseCursor } from "./pages.ts";

/** See `BatchStore.count`. */
export function count(context: Context, id: string): MemberCount | undefined {
  const { database } = context;
  // A transaction of this connection may be open: then the readings are of one moment anyway.
  const isOwn = !database.isTransaction;
  if (isOwn) database.exec("BEGIN");
  try {
    return countNow(context, id);
  } finally {
    if (isOwn) database.exec("COMMIT");
  }
}

function countNow(context: Context, id: string): MemberCount | undefined {
  const { sql } = context;
  const batch = runNow(row(id), sql);
  if (batch === undefined) return undefined;
  const counts = new Map<unknown, number>([["pending", batch.waiting ?? 0]]); // nodes that wait have no jobs yet
  const add = (counted: unknown, count: number) => counts.set(counted, (counts.get(counted) ?? 0) + count);
  const marked = sql(
    `SELECT CASE WHEN json_valid(payload) THEN payload ->> '$.batch_counted' ELSE '?' END AS counted, count(*) AS count
     FROM job WHERE batch = ?1 GROUP BY 1
     UNION ALL SELECT counted, count(*) FROM batch WHERE parent = ?1 GROUP BY 1`,
  ).all(id);
  for (const { counted, count } of marked) add(counted, Number(count));
  // SQLite doesn't read JSON that is nested too deeply.
  if (counts.has("?")) {
    const payloads = sql("SELECT payload FROM job WHERE batch = ? AND NOT json_valid(payload)").all(id);
    for (const { payload } of payloads) add(countedIn(payload as string)?.counted, 1);
  }
  return { batch: batchOf(batch), pending: counts.get("pending")!, dead: counts.get("dead") ?? 0 };
}

/** See `AdminStore.members`. */
export function readMembers(context: Context, id: string, { cursor, limit = 25, dead = false }: MemberRequest): Page {
  const budget = new ByteBudget();
  const read = (count: number, after = parseCursor(cursor, false).id) =>
    context.sql(
      `SELECT * FROM entry WHERE id IN (
         SELECT id FROM job WHERE batch = ?1 AND id > ?2
           AND (NOT ?4 OR EXISTS (SELECT 1 FROM member WHERE job = job.id AND place = 'dead'))
         ORDER BY id LIMIT ?3
       ) ORDER BY id`,
    ).all(id, after, count, dead ? 1 : 0) as unknown as EntryRow[];
  const found = new BoundedRead<EntryRow>({ limit: limit + 1, budget }, ({ payload }) => payload);
  while (found.wanted > 0) found.add(read(found.wanted, found.last?.id));
  const { rows } = found;
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const hasMore = rows.length > limit || budget.isSpent;
  return { entries: shown.map(toEntry), ...(hasMore && last && { next: cursorAt(last) }) };
}
