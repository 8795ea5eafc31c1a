/**
 * The logs part of the port. The audit log is a stream. The runs of a cron entry are a list, which takes a hundredth of the memory
 * while it is short: each text follows its time, the latest first.
 *
 * @module
 */
import { CursorError, numberIn } from "../port/cursor.ts";
import { type LogName, type LogPage, type LogStore, maxEntries } from "../port/logs.ts";
import { type Context, serverTime } from "./context.ts";
import { logKey } from "./keys.ts";

const DEFAULT_LIMIT = 25;

/** Returns the part. A cursor is the ID of the last entry of a page; of a list, the number of entries before the next page. */
export function logsPart(context: Context): LogStore {
  const { client } = context;
  return {
    // Resent if its reply was lost: an entry may be in the log twice, but is never missing.
    async add(log, text) {
      const at = `${await serverTime(context)}`;
      await client.call(["XADD", logKey(log), "MAXLEN", "=", `${maxEntries(log)}`, "*", "at", at, "event", text]);
    },
    async page(log, { cursor, limit = DEFAULT_LIMIT } = {}) {
      if (log !== "audit") return await pageOfList(context, log, numberIn(cursor) ?? 0, limit);
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

async function pageOfList({ client }: Context, log: LogName, from: number, limit: number): Promise<LogPage> {
  const texts = await client.call(["LRANGE", logKey(log), `${from}`, `${from + limit}`]) as string[];
  const entries = texts.slice(0, limit).map((text) => {
    const [, at = "0", record = text] = /^(\d+) (.*)$/s.exec(text) ?? [];
    return { at: Number(at), text: record };
  });
  return { entries, ...(texts.length > limit && { next: `${from + limit}` }) };
}
