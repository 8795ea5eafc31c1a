/**
 * The results part of the port: records of ended jobs.
 *
 * @module
 */
import { hasText } from "../ops/search.ts";
import { ByteBudget } from "../port/batch_bytes.ts";
import { numberIn } from "../port/cursor.ts";
import type { SearchWatch } from "../port/entries.ts";
import { MAX_RECORDS, type NewRecord, type RecordPage, type RecordRequest, type ResultStore } from "../port/results.ts";
import { type Body, type Dialect, type Engine, query } from "./body.ts";
import { BoundedRead } from "./bounded_read.ts";

/** Maximum number of records that a search reads before it yields to the event loop. */
const SEARCH_STEP = 1_000;

interface RecordRow {
  readonly id: number;
  readonly body: string;
}

/** Returns the part. */
export function resultsPart(engine: Engine): ResultStore {
  return {
    async read(request: RecordRequest = {}): Promise<RecordPage> {
      if ("text" in request) return await search(engine, request);
      if ("jids" in request) return await engine.read((now) => readBodies(request.jids, now));
      const { rows, next } = await engine.read((now) => readRows(request.cursor, request.limit ?? 25, now));
      return { records: rows.map((row) => row.body), ...(next !== undefined && { next }) };
    },
  };
}

/** Stores records of different jobs in place of older ones of the same jobs. */
export function* add(dialect: Dialect, records: readonly NewRecord[], now: number): Body<void> {
  const expires = (ttlMs: number) => Number.isFinite(ttlMs) ? Math.round(now + ttlMs) : null;
  const rows = records.map(({ jid, ttlMs, body }) => [jid, body, expires(ttlMs)]);
  for (const { from, values } of dialect.given(["text", "text", "bigint"], rows)) {
    yield query(`DELETE FROM record WHERE jid ${dialect.isIn(`SELECT column1 FROM ${from}`)}`, values);
    yield query(`INSERT INTO record (jid, body, expires) SELECT column1, column2, column3 FROM ${from}`, values);
  }
}

/** Deletes expired records, and the oldest beyond {@linkcode MAX_RECORDS}. */
export function* trim(now: number): Body<void> {
  yield query("DELETE FROM record WHERE expires <= ?1", [now]);
  yield query("DELETE FROM record WHERE id <= (SELECT max(id) FROM record) - ?1", [MAX_RECORDS]);
}

/** Returns the record of a job, if it is kept. */
export function* bodyOf(jid: string, now: number): Body<string | undefined> {
  const [row] = yield query(
    "SELECT body FROM record WHERE jid = ?1 AND (expires IS NULL OR expires > ?2)",
    [jid, now],
  );
  return row?.body as string | undefined;
}

function* readBodies(jids: readonly string[], now: number): Body<RecordPage> {
  const records: string[] = [];
  for (const jid of jids) {
    const body = yield* bodyOf(jid, now);
    if (body !== undefined) records.push(body);
  }
  return { records };
}

async function search(
  { read, turn }: Engine,
  { text, limit, signal, onStep }: SearchWatch & { readonly text: string; readonly limit: number },
): Promise<RecordPage> {
  const wanted = text.toLowerCase();
  const found: string[] = [];
  let cursor: string | undefined;
  for (;;) {
    const { rows, next } = await read((now) => readRows(cursor, SEARCH_STEP, now));
    for (const { body } of rows) {
      if (found.length < limit && hasText(body, wanted)) found.push(body);
    }
    onStep?.(rows.length);
    if (next === undefined || found.length === limit || signal?.aborted) return { records: found };
    cursor = next;
    await turn();
  }
}

/** Reads the latest records before the cursor, up to 4 MiB. */
function* readRows(
  cursor: string | undefined,
  limit: number,
  now: number,
): Body<{ readonly rows: readonly RecordRow[]; readonly next?: string }> {
  const budget = new ByteBudget();
  const found = new BoundedRead<RecordRow>({ limit, budget }, ({ body }) => body);
  while (found.wanted > 0) {
    const before = found.last?.id ?? numberIn(cursor) ?? Number.MAX_SAFE_INTEGER;
    found.add(
      yield query(
        "SELECT id, body FROM record WHERE id < ?1 AND (expires IS NULL OR expires > ?2) ORDER BY id DESC LIMIT ?3",
        [before, now, found.wanted],
      ),
    );
  }
  const { rows, last } = found;
  return { rows, ...((budget.isSpent || rows.length === limit) && last && { next: String(last.id) }) };
}
