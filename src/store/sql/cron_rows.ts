/**
 * The rows of cron entries, and how they are read.
 *
 * @module
 */
import type { StoredCron } from "../port/cron.ts";
import { type Body, query } from "./body.ts";
import { inTexts } from "./in_parts.ts";

/** The time `next` of an entry that isn't due before it changes. */
export const NEVER = Number.MAX_SAFE_INTEGER;

/** A row of the table. */
export interface CronRow {
  readonly name: string;
  readonly version: number;
  readonly definition: string;
  readonly state: string;
  readonly live: string | null;
  readonly seen_at: number;
  readonly shared: number;
  readonly tags: string;
  readonly next: number;
}

/** Returns the entry of a row. */
export function toStored({ name, version, definition, state, live, seen_at, shared, tags, next }: CronRow): StoredCron {
  return {
    ...{ name, version, definition, state, live: live ?? undefined, seenAt: seen_at, shared: shared === 1 },
    tags: tags === "" ? [] : tags.split("\n"),
    next: next >= NEVER ? undefined : next,
  };
}

/** Reads those of the entries that exist. */
export function* rowsOf(names: readonly string[]): Body<Map<string, CronRow>> {
  const found = new Map<string, CronRow>();
  for (const { where, values } of inTexts(names, "name")) {
    const rows = yield query(`SELECT * FROM cron WHERE ${where}`, values);
    for (const row of rows as unknown as readonly CronRow[]) found.set(row.name, row);
  }
  return found;
}

/** Returns when the first shared entry is due. */
export function* firstDue(): Body<number | undefined> {
  const [row] = yield query("SELECT next FROM cron WHERE shared = 1 ORDER BY next, name LIMIT 1");
  return row === undefined || Number(row.next) >= NEVER ? undefined : Number(row.next);
}
