/**
 * Writes of cron entries: a few statements for many entries. They are held in the order of their names, then the counter is written: so
 * transactions of a server don't wait for each other in a circle.
 *
 * @module
 */
import type { CronRemoval, CronWrite } from "../port/cron.ts";
import type { NewJob } from "../port/jobs.ts";
import { cronRecordsKept } from "../port/logs.ts";
import { type Body, type Engine, hold, lock, query, type Value } from "./body.ts";
import { type CronRow, firstDue, NEVER, rowsOf, toStored } from "./cron_rows.ts";
import { record } from "./events.ts";
import { inTexts, ROWS_PER_STATEMENT } from "./in_parts.ts";

/** Rows to write: of names, the latest of each. */
interface Rows {
  readonly entries: Map<string, readonly Value[]>;
  readonly tags: (readonly Value[])[];
  /** Of each log, oldest first. */
  readonly records: Map<string, readonly string[]>;
  readonly jobs: NewJob[];
}

/** Writes entries in one transaction. Returns their new versions; undefined for one that has changed. */
export function* writeAll(
  engine: Engine,
  writes: readonly (CronWrite | CronRemoval)[],
  now: number,
): Body<(number | undefined)[]> {
  yield lock("cron");
  for (const { where, values } of inTexts(writes.map(({ name }) => name).sort(), "name")) {
    yield hold(`SELECT 1 FROM cron WHERE ${where} ORDER BY name FOR UPDATE`, values);
  }
  const rows = yield* rowsOf(writes.map(({ name }) => name));
  const [counter] = yield query(
    `UPDATE cron_counter SET version = version + ?1, latest = CASE WHEN latest < ?2 THEN ?2 ELSE latest END
     RETURNING version, entries`,
    [writes.length, now],
  );
  const first = yield* firstDue();
  const keep = cronRecordsKept(Number(counter!.entries));
  let version = Number(counter!.version) - writes.length;
  let added = 0;
  let isChanged = false;
  const written: Rows = { entries: new Map(), tags: [], records: new Map(), jobs: [] };
  const versions: (number | undefined)[] = [];
  for (const write of writes) {
    const before = rows.get(write.name);
    if ((before?.version ?? 0) !== write.version) {
      versions.push(undefined);
    } else if ("remove" in write) {
      if (before !== undefined) yield* removeRow(before);
      rows.delete(write.name);
      added--;
      isChanged ||= before?.shared === 0;
      versions.push(write.version);
    } else {
      const row = rowAfter(write, before, ++version, now);
      if (row.tags !== (before?.tags ?? "")) {
        yield* dropTags(before);
        for (const tag of new Set(toStored(row).tags)) written.tags.push([tag, row.name]);
      }
      written.entries.set(row.name, valuesOf(row, write.awaited));
      if (write.records.length > 0) written.records.set(`cron:${row.name}`, write.records.slice(-keep));
      for (const members of write.events ?? []) yield* record(members, now);
      written.jobs.push(...write.jobs, ...write.follow ?? []);
      rows.set(row.name, row);
      if (before === undefined) added++;
      if (write.definition !== undefined) {
        isChanged ||= row.shared === 0 || before?.shared === 0 || row.next < (first ?? NEVER);
      }
      versions.push(version);
    }
  }
  yield* put(engine, written, keep, now);
  if (added !== 0 || isChanged) {
    yield query("UPDATE cron_counter SET changes = changes + ?1, entries = entries + ?2", [isChanged ? 1 : 0, added]);
  }
  return versions;
}

function* put(engine: Engine, { entries, tags, records, jobs }: Rows, keep: number, now: number): Body<void> {
  for (const [text, values] of inLists(ENTRY, [...entries.values()])) yield query(text, values);
  for (const [text, values] of inLists(TAG, tags)) yield query(text, values);
  yield* putRecords(records, keep, now);
  if (jobs.length > 0) yield* engine.storeJobs(jobs, now);
}

function* putRecords(records: Rows["records"], keep: number, now: number): Body<void> {
  const last = new Map<string, number>();
  for (const [text, values] of inLists(LAST_RECORD, Array.from(records.keys(), (log) => [log]))) {
    for (const { log, number } of yield query(text, values)) last.set(String(log), Number(number ?? 0));
  }
  const rows = Array.from(records, ([log, texts]) => texts.map((text, i) => [log, last.get(log)! + i + 1, now, text]));
  for (const [text, values] of inLists(RECORD, rows.flat())) yield query(text, values);
  for (const [log, texts] of records) {
    const surplus = last.get(log)! + texts.length - keep;
    if (surplus > 0) yield query("DELETE FROM log WHERE name = ?1 AND number <= ?2", [log, surplus]);
  }
}

/** Returns the row of an entry after a write. */
function rowAfter(
  { name, definition, shared = false, tags = [], state, live, next, jobs }: CronWrite,
  before: CronRow | undefined,
  version: number,
  now: number,
): CronRow {
  const kept = definition === undefined && before !== undefined
    ? before
    : { definition: definition ?? "", shared: shared ? 1 : 0, tags: tags.join("\n"), seen_at: now };
  return {
    ...{ name, version, state, next: next ?? NEVER, live: jobs.at(-1)?.jid ?? live ?? before?.live ?? null },
    ...{ definition: kept.definition, shared: kept.shared, tags: kept.tags, seen_at: kept.seen_at },
  };
}

const COLUMNS = ["name", "version", "definition", "state", "live", "awaited", "seen_at", "shared", "tags", "next"];

/** The values of {@linkcode COLUMNS}. */
function valuesOf(row: CronRow, awaited: boolean): readonly Value[] {
  const { name, version, definition, state, live, seen_at, shared, tags, next } = row;
  return [name, version, definition, state, live, awaited ? 1 : 0, seen_at, shared, tags, next];
}

/** Removes an entry with its log. */
function* removeRow(row: CronRow): Body<void> {
  yield query("DELETE FROM cron WHERE name = ?1", [row.name]);
  yield* dropTags(row);
  yield query("DELETE FROM log WHERE name = ?1", [`cron:${row.name}`]);
}

function* dropTags(row: CronRow | undefined): Body<void> {
  for (const tag of row === undefined ? [] : toStored(row).tags) {
    yield query("DELETE FROM cron_tag WHERE tag = ?1 AND name = ?2", [tag, row!.name]);
  }
}

/** A statement with a list of rows: its text by their number. */
type RowsStatement = Readonly<Record<typeof ROWS_PER_STATEMENT[number], string>>;

/** @param types of the parameters of a row */
function ofRows(types: readonly string[], text: (rows: string) => string): RowsStatement {
  const row = (i: number) => `(${types.map((type, j) => `CAST(?${i * types.length + j + 1} AS ${type})`).join(", ")})`;
  return Object.fromEntries(
    ROWS_PER_STATEMENT.map((count) => [count, text(Array.from({ length: count }, (_, i) => row(i)).join(", "))]),
  ) as RowsStatement;
}

const ENTRY = ofRows(
  COLUMNS.map((name) => ["name", "definition", "state", "live", "tags"].includes(name) ? "text" : "bigint"),
  (rows) =>
    `INSERT INTO cron (${COLUMNS.join(", ")}) VALUES ${rows} ON CONFLICT (name) DO UPDATE
     SET ${COLUMNS.slice(1).map((name) => `${name} = excluded.${name}`).join(", ")}`,
);
const TAG = ofRows(
  ["text", "text"],
  (rows) => `INSERT INTO cron_tag (tag, name) VALUES ${rows} ON CONFLICT (tag, name) DO NOTHING`,
);
const LAST_RECORD = ofRows(
  ["text"],
  (rows) =>
    `SELECT column1 AS log, (SELECT max(number) FROM log WHERE name = column1) AS number FROM (VALUES ${rows}) AS given`,
);
const RECORD = ofRows(
  ["text", "bigint", "bigint", "text"],
  (rows) => `INSERT INTO log (name, number, at, text) VALUES ${rows}`,
);

function* inLists(statement: RowsStatement, rows: readonly (readonly Value[])[]): Iterable<readonly [string, Value[]]> {
  let from = 0;
  for (const count of ROWS_PER_STATEMENT) {
    for (; rows.length - from >= count; from += count) yield [statement[count], rows.slice(from, from + count).flat()];
  }
}
