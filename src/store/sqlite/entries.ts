/**
 * Finds jobs and their places for operators: by ref, by jid, by a text in their payloads.
 *
 * @module
 */
import type { Entry, SetName, TextSelection } from "../port/entries.ts";
import { hasTextOutsideStack } from "../ops/search.ts";
import { splitName } from "../port/groups.ts";
import type { Context } from "./context.ts";
import type { JobRow } from "./job_rows.ts";
import { makeRef, parseRef } from "../sql/refs.ts";

/** A row of the view `entry`. */
export interface EntryRow extends JobRow {
  readonly place: "queue" | "running" | SetName;
  /** In a queue: its name. */
  readonly queue: string | null;
  readonly at: number | null;
  readonly worker: string | null;
}

/** Maximum number of rows that a search reads before it yields to the event loop. */
const SEARCH_STEP = 10_000;

/** Returns the row that a ref names, if it is still in its place. */
export function locate(context: Context, ref: string): EntryRow | undefined {
  const parts = parseRef(ref);
  if (parts === undefined) return undefined;
  return context.sql("SELECT * FROM entry WHERE id = ? AND place = ? AND jid IS ?")
    .get(parts.id, parts.place, parts.jid) as unknown as EntryRow | undefined;
}

/** Returns the entry that a ref names. @param most see `AdminStore.get` */
export function get(context: Context, ref: string, most: number | undefined): Entry | undefined {
  const row = locate(context, ref);
  if (row?.place !== "queue" || most === undefined) return row && toEntry(row);
  const { n } = context.sql(
    `SELECT count(*) AS n FROM (SELECT 1 FROM queued
     WHERE queue = (SELECT id FROM queue WHERE name = ?) AND job < ? LIMIT ?)`,
  ).get(row.queue, row.id, most)!;
  return { ...toEntry(row), before: Number(n) };
}

/** See `JobStore.find`. */
export async function find(context: Context, selection: readonly string[] | TextSelection): Promise<Entry[]> {
  if ("text" in selection) return await search(context, selection);
  const rows = (jid: string) =>
    context.sql("SELECT * FROM entry WHERE jid = ? ORDER BY id").all(jid) as unknown as EntryRow[];
  return await context.read(() => [...new Set(selection)].flatMap((jid) => rows(jid).map(toEntry)));
}

async function search(context: Context, { text, limit }: TextSelection): Promise<Entry[]> {
  const { sql, read, turn } = context;
  const patterns = likePatterns(text);
  const matches = patterns.map(() => "payload LIKE ? ESCAPE '\\'").join(" OR ");
  const wanted = text.toLowerCase();
  const found: Entry[] = [];
  for (let after = -1; found.length < limit;) {
    // Skip to the next existing row: in an old store few of the early IDs are left.
    const first = await read(() => sql("SELECT min(id) AS id FROM job WHERE id > ?").get(after)!.id);
    if (first === null) break;
    const last = Number(first) + SEARCH_STEP - 1;
    const most = limit - found.length;
    const rows = await read(() =>
      sql(
        `SELECT * FROM entry WHERE id IN (SELECT id FROM job WHERE id > ? AND id <= ? AND (${matches}) ORDER BY id LIMIT ?)
         ORDER BY id`,
      ).all(after, last, ...patterns, most)
    ) as unknown as EntryRow[];
    found.push(...rows.filter((row) => hasTextOutsideStack(row.payload, wanted)).map(toEntry));
    // The window may have more rows. Filtered ones don't count.
    after = rows.length < most ? last : Number(rows.at(-1)!.id);
    await turn();
  }
  return found;
}

/** Converts a row to an entry of the port. */
export function toEntry(row: EntryRow): Entry {
  return {
    ref: makeRef(row),
    place: row.place === "queue" ? { in: "queue", ...splitName(row.queue!) } : { in: row.place },
    payload: row.payload,
    ...(row.at !== null && { at: row.at }),
    ...(row.worker !== null && { worker: row.worker }),
  };
}

/** Returns patterns for `LIKE`, which ignores the case of ASCII letters only. */
function likePatterns(text: string): string[] {
  const isAscii = /^[\x20-\x7e]*$/.test(text);
  const variants = isAscii ? [text] : [...new Set([text, text.toLowerCase(), text.toUpperCase()])];
  return variants.map((variant) => `%${variant.replace(/[\\%_]/g, "\\$&")}%`);
}
