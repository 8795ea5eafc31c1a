/**
 * Records of ended jobs.
 *
 * @module
 */
import { hasText } from "../ops/search.ts";
import { ByteBudget } from "../port/batch_bytes.ts";
import { numberIn } from "../port/cursor.ts";
import { MAX_RECORDS, type NewRecord, type RecordPage, type RecordRequest } from "../port/results.ts";
import { readBounded } from "./bounded_read.ts";
import type { Context } from "./context.ts";

/** Maximum number of records that a search reads before it yields to the event loop. */
const SEARCH_STEP = 1_000;

interface Row {
  readonly id: number;
  readonly body: string;
}

/** Stores a record in place of an older one of the same job; inside a transaction. */
export function add(context: Context, { jid, ttlMs, body }: NewRecord, now: number): void {
  const { sql } = context;
  sql("DELETE FROM record WHERE jid = ?").run(jid);
  const expires = Number.isFinite(ttlMs) ? Math.round(now + ttlMs) : null;
  sql("INSERT INTO record (jid, body, expires) VALUES (?, ?, ?)").run(jid, body, expires);
}

/** Deletes expired records, and the oldest beyond {@linkcode MAX_RECORDS}; inside a transaction. */
export function trim(context: Context, now: number): void {
  const { sql } = context;
  sql("DELETE FROM record WHERE expires <= ?").run(now);
  sql("DELETE FROM record WHERE id <= (SELECT max(id) FROM record) - ?").run(MAX_RECORDS);
}

/** Returns whether the record of a job is kept. */
export function has(context: Context, jid: string): boolean {
  return bodyOf(context, jid) !== undefined;
}

/** See `ResultStore.read`. */
export function read(context: Context, request: RecordRequest = {}): Promise<RecordPage> {
  if ("text" in request) return search(context, request);
  return context.read(() => {
    if ("jids" in request) {
      return { records: request.jids.map((jid) => bodyOf(context, jid)).filter((body) => body !== undefined) };
    }
    const { rows, next } = readRows(context, request.cursor, request.limit ?? 25);
    return { records: rows.map((row) => row.body), ...(next !== undefined && { next }) };
  });
}

async function search(
  context: Context,
  { text, limit }: { readonly text: string; readonly limit: number },
): Promise<RecordPage> {
  const wanted = text.toLowerCase();
  const found: string[] = [];
  let cursor: string | undefined;
  for (;;) {
    const { rows, next } = await context.read(() => readRows(context, cursor, SEARCH_STEP));
    for (const { body } of rows) {
      if (found.length < limit && hasText(body, wanted)) found.push(body);
    }
    if (next === undefined || found.length === limit) return { records: found };
    cursor = next;
    await context.turn();
  }
}

function bodyOf(context: Context, jid: string): string | undefined {
  const { sql, now } = context;
  const row = sql("SELECT body FROM record WHERE jid = ? AND (expires IS NULL OR expires > ?)").get(jid, now());
  return row?.body as string | undefined;
}

/** Reads the latest records before the cursor, up to 4 MiB. */
function readRows(
  context: Context,
  cursor: string | undefined,
  limit: number,
): { readonly rows: readonly Row[]; readonly next?: string } {
  const { sql, now } = context;
  const budget = new ByteBudget();
  const rows = readBounded(
    { limit, budget },
    (count, after: Row | undefined) =>
      sql(
        "SELECT id, body FROM record WHERE id < ? AND (expires IS NULL OR expires > ?) ORDER BY id DESC LIMIT ?",
      ).all(after?.id ?? numberIn(cursor) ?? Number.MAX_SAFE_INTEGER, now(), count) as unknown as Row[],
    ({ body }) => body,
  );
  const last = rows.at(-1);
  return { rows, ...((budget.isSpent || rows.length === limit) && last && { next: String(last.id) }) };
}
