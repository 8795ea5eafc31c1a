/**
 * The logs part of the port. The numbers of a log's rows are consecutive.
 *
 * @module
 */
import { numberIn } from "../port/cursor.ts";
import { type LogName, type LogStore, maxEntries } from "../port/logs.ts";
import type { Context } from "./context.ts";

const DEFAULT_LIMIT = 25;

/** Returns the part. A cursor is the number of the last row of a page. */
export function logsPart(context: Context): LogStore {
  const { commit, read, sql } = context;
  return {
    add: (log, text) => commit.run(() => add(context, log, text)),
    page: (log, { cursor, limit = DEFAULT_LIMIT } = {}) =>
      read(() => {
        const before = numberIn(cursor) ?? Number.MAX_SAFE_INTEGER;
        const rows = sql("SELECT number, at, text FROM log WHERE name = ? AND number < ? ORDER BY number DESC LIMIT ?")
          .all(log, before, limit + 1);
        const entries = rows.slice(0, limit).map(({ at, text }) => ({ at: Number(at), text: String(text) }));
        return { entries, ...(rows.length > limit && { next: String(rows[limit - 1]!.number) }) };
      }),
  };
}

/** Adds an entry; inside a transaction. */
export function add({ sql, now }: Context, log: LogName, text: string): void {
  const { number } = sql(
    `INSERT INTO log (name, number, at, text) SELECT ?1, coalesce(max(number), 0) + 1, ?2, ?3 FROM log WHERE name = ?1
     RETURNING number`,
  ).get(log, now(), text)!;
  sql("DELETE FROM log WHERE name = ? AND number <= ?").run(log, Number(number) - maxEntries(log));
}
