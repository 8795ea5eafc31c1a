/**
 * The audit log: a stream, bounded by Redis itself.
 *
 * @module
 */
import { actText, type AuditEvent, type AuditPage, MAX_ACTS, readAct } from "../admin/audit.ts";
import { CursorError } from "../port/cursor.ts";
import { type Context, serverTime } from "./context.ts";
import { AUDIT } from "./keys.ts";

const DEFAULT_LIMIT = 25;

/** See `Auditor.audit`. Sent again when its answer was lost: rather twice in the log than not at all. */
export async function addAct(context: Context, act: AuditEvent): Promise<void> {
  const at = `${await serverTime(context)}`;
  await context.link.call(["XADD", AUDIT, "MAXLEN", "=", `${MAX_ACTS}`, "*", "at", at, "act", actText(act)]);
}

/** See `Auditor.acts`. The cursor is the last one's id. */
export async function readActs(
  { link }: Context,
  { cursor, limit = DEFAULT_LIMIT }: { readonly cursor?: string; readonly limit?: number } = {},
): Promise<AuditPage> {
  if (cursor !== undefined && !/^\d{1,15}-\d{1,15}$/.test(cursor)) throw new CursorError(cursor);
  const from = cursor === undefined ? "+" : `(${cursor}`;
  const rows = await link.call(["XREVRANGE", AUDIT, from, "-", "COUNT", `${limit + 1}`]) as [string, string[]][];
  const acts = rows.slice(0, limit).map(([, fields]) => {
    const field = (name: string) => fields[fields.indexOf(name) + 1] ?? "";
    return readAct(field("act"), Number(field("at")) || 0);
  });
  return { acts, ...(rows.length > limit && { next: rows[limit - 1]![0] }) };
}
