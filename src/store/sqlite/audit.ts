/**
 * The audit part of the port.
 *
 * @module
 */
import { type AuditStore, eventText, MAX_EVENTS, readEvent } from "../admin/audit.ts";
import { numberIn } from "../port/cursor.ts";
import type { Context } from "./context.ts";

const DEFAULT_LIMIT = 25;

/** Returns the part. A cursor is the ID of the last event of a page. */
export function auditPart({ commit, read, sql, now }: Context): AuditStore {
  return {
    record: (event) =>
      commit.run(() => {
        const { lastInsertRowid } = sql("INSERT INTO audit_event (at, body) VALUES (?, ?)").run(
          now(),
          eventText(event),
        );
        sql("DELETE FROM audit_event WHERE id <= ?").run(Number(lastInsertRowid) - MAX_EVENTS);
      }),
    page: ({ cursor, limit = DEFAULT_LIMIT } = {}) =>
      read(() => {
        const before = numberIn(cursor) ?? Number.MAX_SAFE_INTEGER;
        const rows = sql("SELECT id, at, body FROM audit_event WHERE id < ? ORDER BY id DESC LIMIT ?").all(
          before,
          limit + 1,
        );
        const events = rows.slice(0, limit).map(({ at, body }) => readEvent(String(body), Number(at)));
        return { events, ...(rows.length > limit && { next: String(rows[limit - 1]!.id) }) };
      }),
  };
}
