/**
 * The audit part of the port.
 *
 * @module
 */
import { actText, type AuditStore, MAX_ACTS, readAct } from "../admin/audit.ts";
import { numberIn } from "../port/cursor.ts";
import type { Context } from "./context.ts";

const DEFAULT_LIMIT = 25;

/** Returns the part. A cursor is the ID of the last event of a page. */
export function auditPart({ commit, read, sql, now }: Context): AuditStore {
  return {
    record: (event) =>
      commit.run(() => {
        const { lastInsertRowid } = sql("INSERT INTO act (at, body) VALUES (?, ?)").run(now(), actText(event));
        sql("DELETE FROM act WHERE id <= ?").run(Number(lastInsertRowid) - MAX_ACTS);
      }),
    page: ({ cursor, limit = DEFAULT_LIMIT } = {}) =>
      read(() => {
        const before = numberIn(cursor) ?? Number.MAX_SAFE_INTEGER;
        const rows = sql("SELECT id, at, body FROM act WHERE id < ? ORDER BY id DESC LIMIT ?").all(before, limit + 1);
        const acts = rows.slice(0, limit).map(({ at, body }) => readAct(String(body), Number(at)));
        return { acts, ...(rows.length > limit && { next: String(rows[limit - 1]!.id) }) };
      }),
  };
}
