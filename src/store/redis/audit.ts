/**
 * The audit log: a stream, bounded by Redis itself.
 *
 * @module
 */
import { type AuditStore, eventText, MAX_EVENTS, readEvent } from "../admin/audit.ts";
import { CursorError } from "../port/cursor.ts";
import { type Context, serverTime } from "./context.ts";
import { AUDIT } from "./keys.ts";

const DEFAULT_LIMIT = 25;

/** Returns the part. A cursor is the ID of the last event of a page. */
export function auditPart(context: Context): AuditStore {
  const { client } = context;
  return {
    // Resent if its reply was lost: an event may be in the log twice, but is never missing.
    async record(event) {
      const at = `${await serverTime(context)}`;
      await client.call(["XADD", AUDIT, "MAXLEN", "=", `${MAX_EVENTS}`, "*", "at", at, "event", eventText(event)]);
    },
    async page({ cursor, limit = DEFAULT_LIMIT } = {}) {
      if (cursor !== undefined && !/^\d{1,15}-\d{1,15}$/.test(cursor)) throw new CursorError(cursor);
      const from = cursor === undefined ? "+" : `(${cursor}`;
      const rows = await client.call(["XREVRANGE", AUDIT, from, "-", "COUNT", `${limit + 1}`]) as [string, string[]][];
      const events = rows.slice(0, limit).map(([, fields]) => {
        const field = (name: string) => fields[fields.indexOf(name) + 1] ?? "";
        return readEvent(field("event"), Number(field("at")) || 0);
      });
      return { events, ...(rows.length > limit && { next: rows[limit - 1]![0] }) };
    },
  };
}
