/**
 * Finds jobs and their places for operators: by ref, by jid, by a text in their payloads.
 *
 * @module
 */
import type { Entry, SetName, TextSelection } from "../port/entries.ts";
import { hasTextOutsidePacked } from "../ops/search.ts";
import { splitName } from "../port/groups.ts";
import { type Body, type Dialect, type Engine, query, type Value, wholeText } from "./body.ts";
import type { JobRow } from "./job_rows.ts";
import { makeRef, parseRef } from "./refs.ts";

/** A row of the view `entry`. */
export interface EntryRow extends JobRow {
  readonly place: "queue" | "running" | SetName;
  /** In a queue: its name. */
  readonly queue: string | null;
  readonly at: number | null;
  readonly worker: string | null;
  /** 1 for a lease whose job was cancelled. Absent in the view of an older schema, and for places without leases. */
  readonly cancelled?: number | null;
}

/** Maximum number of rows that a search reads before it yields to the event loop. */
const SEARCH_STEP = 10_000;

/** Returns the row that a ref names, if it is still in its place. */
export function* locate(ref: string): Body<EntryRow | undefined> {
  const parts = parseRef(ref);
  if (parts === undefined) return undefined;
  const [row] = yield query(
    "SELECT * FROM entry WHERE id = ?1 AND place = ?2 AND jid IS NOT DISTINCT FROM ?3",
    [parts.id, parts.place, parts.jid],
  );
  return row && rowOf(row);
}

/** Returns a row of the view `entry`, with the name of its queue as text. */
export function rowOf(row: object): EntryRow {
  const { queue } = row as { readonly queue: unknown };
  return { ...row as EntryRow, queue: queue === null ? null : wholeText(queue) };
}

/** See `AdminStore.get`. */
export function* get(refs: readonly string[], most: number | undefined): Body<(Entry | undefined)[]> {
  const entries: (Entry | undefined)[] = [];
  for (const ref of refs) {
    const row = yield* locate(ref);
    const before = row?.place === "queue" && most !== undefined ? yield* countBefore(row, most) : undefined;
    entries.push(row && { ...toEntry(row), ...(before !== undefined && { before }) });
  }
  return entries;
}

/** Returns the number of jobs before a job of a queue, counted up to `most`. */
function* countBefore({ queue, id }: EntryRow, most: number): Body<number> {
  const [row] = yield query(
    `SELECT count(*) AS n FROM (SELECT 1 FROM queued
     WHERE queue = (SELECT id FROM queue WHERE name = ?1) AND job < ?2 LIMIT ?3) AS earlier`,
    [queue, id, most],
  );
  return Number(row!.n);
}

/** See `JobStore.find`. */
export async function find(engine: Engine, selection: readonly string[] | TextSelection): Promise<Entry[]> {
  if ("text" in selection) return await search(engine, selection);
  return await engine.read(() => findAll(engine.dialect, new Set(selection)));
}

function* findAll(dialect: Dialect, jids: Iterable<string>): Body<Entry[]> {
  const found: Entry[] = [];
  const text = `${entriesWithJid(dialect)} ORDER BY id`;
  for (const jid of jids) found.push(...(yield query(text, [jid])).map(toEntry));
  return found;
}

/**
 * Returns the statement that finds the entries with the jid `?1`. Before PostgreSQL knows how many jobs have one jid, it expects many:
 * it would compile the statement for 300 ms, unless it has the IDs first.
 */
export function entriesWithJid({ isIn }: Dialect): string {
  return `SELECT * FROM entry WHERE id ${isIn("SELECT id FROM job WHERE jid = ?1")}`;
}

async function search(
  { read, turn, dialect }: Engine,
  { text, limit, signal, onStep }: TextSelection,
): Promise<Entry[]> {
  const patterns = likePatterns(text);
  const matches = patterns.map((_, i) => `payload ${dialect.like} ?${i + 4} ESCAPE '!'`).join(" OR ");
  const wanted = text.toLowerCase();
  const found: Entry[] = [];
  for (let after = -1; found.length < limit && !signal?.aborted;) {
    // Skip to the next existing row: in an old store few of the early IDs are left.
    const first = await read(() => nextId(after));
    if (first === undefined) break;
    const last = first + SEARCH_STEP - 1;
    const most = limit - found.length;
    const rows = await read(() => readMatches(dialect, matches, [after, last, most, ...patterns]));
    const those = rows.filter((row) => hasTextOutsidePacked(row.payload, wanted));
    if (those.length > 0) found.push(...await read(() => entriesOf(dialect, those)));
    // The window may have more rows. Filtered ones don't count.
    after = rows.length < most ? last : Number(rows.at(-1)!.id);
    onStep?.(after - first + 1);
    await turn();
  }
  return found;
}

function* nextId(after: number): Body<number | undefined> {
  const [row] = yield query("SELECT id FROM job WHERE id > ?1 ORDER BY id LIMIT 1", [after]);
  return row && Number(row.id);
}

function* readMatches({ isStored }: Dialect, matches: string, values: readonly Value[]): Body<readonly JobRow[]> {
  const rows = yield query(
    `SELECT id, jid, payload FROM job WHERE id > ?1 AND id <= ?2 AND (${matches}) AND ${isStored} ORDER BY id LIMIT ?3`,
    values,
  );
  return rows as readonly object[] as readonly JobRow[];
}

/**
 * Returns the entries of jobs whose IDs are in order and close to each other. The view would look for each of them in each queue: with
 * 1,000 jobs and 10,000 queues this took 100 s. Omits those that have left their places meanwhile.
 */
function* entriesOf({ queuedBetween }: Dialect, jobs: readonly JobRow[]): Body<Entry[]> {
  const places = yield query(
    `SELECT job, 'queue' AS place, queue, CAST(NULL AS bigint) AS at, CAST(NULL AS text) AS worker,
       CAST(NULL AS smallint) AS cancelled
     FROM (${queuedBetween("?1", "?2")}) AS waiting
     UNION ALL SELECT job, 'running', NULL, at, worker, cancelled
     FROM lease CROSS JOIN lease_worker WHERE job BETWEEN ?1 AND ?2 AND lease_worker.id = worker_id
     UNION ALL SELECT job, place, NULL, at, NULL, NULL FROM member WHERE job BETWEEN ?1 AND ?2`,
    [jobs[0]!.id, jobs.at(-1)!.id],
  );
  const placeOf = new Map(places.map(({ job, ...place }) => [Number(job), place]));
  return jobs.flatMap((job) => {
    const place = placeOf.get(Number(job.id));
    return place === undefined ? [] : [toEntry({ ...job, ...place })];
  });
}

/** Converts a row of the view `entry` to an entry of the port. */
export function toEntry(row: object): Entry {
  const { place, queue, at, worker, cancelled, ...job } = rowOf(row);
  return {
    ref: makeRef({ place, ...job }),
    place: place === "queue" ? { in: "queue", ...splitName(queue!) } : { in: place },
    payload: job.payload,
    ...(at !== null && { at }),
    ...(worker !== null && { worker }),
    ...(cancelled && { cancelled: true }),
  };
}

/** Returns patterns for `LIKE`, which ignores the case of ASCII letters only. The escape is `!`: settings change the meaning of a backslash. */
function likePatterns(text: string): string[] {
  const isAscii = /^[\x20-\x7e]*$/.test(text);
  const variants = isAscii ? [text] : [...new Set([text, text.toLowerCase(), text.toUpperCase()])];
  return variants.map((variant) => `%${variant.replace(/[!%_]/g, "!$&")}%`);
}
