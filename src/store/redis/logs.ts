/**
 * The logs part of the port: a stream per log, bounded by Redis itself.
 *
 * @module
 */
import { CursorError } from "../port/cursor.ts";
import { type LogStore, maxEntries } from "../port/logs.ts";
import { type Context, serverTime } from "./context.ts";
import { logKey } from "./keys.ts";

const DEFAULT_LIMIT = 25;

/** Returns the part. A cursor is the ID of the last entry of a page. */
export function logsPart(context: Context): LogStore {
  const { client } = context;
  return {
    // Resent if its reply was lost: an entry may be in the log twice, but is never missing.
    async add(log, text) {
      const at = `${await serverTime(context)}`;
      await client.call(["XADD", logKey(log), "MAXLEN", "=", `${maxEntries(log)}`, "*", "at", at, "event", text]);
    },
    async page(log, { cursor, limit = DEFAULT_LIMIT } = {}) {
      if (cursor !== undefined && !/^\d{1,15}-\d{1,15}$/.test(cursor)) throw new CursorError(cursor);
      const from = cursor === undefined ? "+" : `(${cursor}`;
      const command = ["XREVRANGE", logKey(log), from, "-", "COUNT", `${limit + 1}`];
      const rows = await client.call(command) as [string, string[]][];
      const entries = rows.slice(0, limit).map(([, fields]) => {
        const field = (name: string) => fields[fields.indexOf(name) + 1] ?? "";
        return { at: Number(field("at")) || 0, text: field("event") };
      });
      return { entries, ...(rows.length > limit && { next: rows[limit - 1]![0] }) };
    },
  };
}
