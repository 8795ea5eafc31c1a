/**
 * The rows of cron entries: how they are read and written. Bodies write the counter before the entries, so that transactions of a
 * server don't wait for each other in a circle.
 *
 * @module
 */
import type { CronWrite, StoredCron } from "../port/cron.ts";
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

/** Returns the row of an entry after a write. */
export function rowAfter(
  { name, definition, shared = false, tags = [], state, next, jobs }: CronWrite,
  before: CronRow | undefined,
  version: number,
  now: number,
): CronRow {
  const kept = definition === undefined && before !== undefined
    ? before
    : { definition: definition ?? "", shared: shared ? 1 : 0, tags: tags.join("\n"), seen_at: now };
  return {
    ...{ name, version, state, next: next ?? NEVER, live: jobs.at(-1)?.jid ?? before?.live ?? null },
    ...{ definition: kept.definition, shared: kept.shared, tags: kept.tags, seen_at: kept.seen_at },
  };
}

/** Writes the row of an entry, and its tags if they have changed. */
export function* putRow(row: CronRow, awaited: boolean, before: CronRow | undefined): Body<void> {
  const { name, version, definition, state, live, seen_at, shared, tags, next } = row;
  yield query(
    `INSERT INTO cron (name, version, definition, state, live, awaited, seen_at, shared, tags, next)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT (name) DO UPDATE
     SET version = ?2, definition = ?3, state = ?4, live = ?5, awaited = ?6, seen_at = ?7, shared = ?8, tags = ?9, next = ?10`,
    [name, version, definition, state, live, awaited ? 1 : 0, seen_at, shared, tags, next],
  );
  if (tags === (before?.tags ?? "")) return;
  yield* dropTags(before);
  for (const tag of new Set(toStored(row).tags)) {
    yield query("INSERT INTO cron_tag (tag, name) VALUES (?1, ?2) ON CONFLICT (tag, name) DO NOTHING", [tag, name]);
  }
}

/** Removes an entry with its log. */
export function* removeRow(row: CronRow): Body<void> {
  yield query("DELETE FROM cron WHERE name = ?1", [row.name]);
  yield* dropTags(row);
  yield query("DELETE FROM log WHERE name = ?1", [`cron:${row.name}`]);
}

function* dropTags(row: CronRow | undefined): Body<void> {
  for (const tag of row === undefined ? [] : toStored(row).tags) {
    yield query("DELETE FROM cron_tag WHERE tag = ?1 AND name = ?2", [tag, row!.name]);
  }
}

/** Adds records to the log of an entry, and keeps as many. */
export function* addRecords(name: string, records: readonly string[], now: number, keep: number): Body<void> {
  if (records.length === 0) return;
  const log = `cron:${name}`;
  for (const record of records.slice(-keep)) {
    yield query(
      `INSERT INTO log (name, number, at, text) SELECT ?1, coalesce(max(number), 0) + 1, ?2, ?3 FROM log WHERE name = ?1`,
      [log, now, record],
    );
  }
  yield query("DELETE FROM log WHERE name = ?1 AND number <= (SELECT max(number) FROM log WHERE name = ?1) - ?2", [
    log,
    keep,
  ]);
}
