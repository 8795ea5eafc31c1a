/**
 * The logs part of the port. The numbers of a log's rows are consecutive.
 *
 * @module
 */
import { numberIn } from "../port/cursor.ts";
import { type LogName, type LogStore, maxEntries } from "../port/logs.ts";
import { type Body, type Engine, lock, query } from "./body.ts";

const DEFAULT_LIMIT = 25;

/** Returns the part. A cursor is the number of the last row of a page. */
export function logsPart({ write, read }: Engine): LogStore {
  return {
    add: (log, text) => write((now) => addEntry(log, text, now)),
    page: (log, { cursor, limit = DEFAULT_LIMIT } = {}) =>
      read(function* () {
        const before = numberIn(cursor) ?? Number.MAX_SAFE_INTEGER;
        const rows = yield query(
          "SELECT number, at, text FROM log WHERE name = ?1 AND number < ?2 ORDER BY number DESC LIMIT ?3",
          [log, before, limit + 1],
        );
        const entries = rows.slice(0, limit).map(({ at, text }) => ({ at: Number(at), text: String(text) }));
        return { entries, ...(rows.length > limit && { next: String(rows[limit - 1]!.number) }) };
      }),
  };
}

/** Adds an entry. */
export function* addEntry(log: LogName, text: string, now: number): Body<void> {
  yield lock(`log:${log}`);
  const [row] = yield query(
    `INSERT INTO log (name, number, at, text) SELECT ?1, coalesce(max(number), 0) + 1, ?2, ?3 FROM log WHERE name = ?1
     RETURNING number`,
    [log, now, text],
  );
  yield query("DELETE FROM log WHERE name = ?1 AND number <= ?2", [log, Number(row!.number) - maxEntries(log)]);
}
