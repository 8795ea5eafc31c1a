/**
 * The audit log.
 *
 * @module
 */
import { actText, type AuditEvent, type AuditPage, MAX_ACTS, readAct } from "../admin/audit.ts";
import { numberIn } from "../port/cursor.ts";
import type { Context } from "./context.ts";

const DEFAULT_LIMIT = 25;

/** Keeps what was done. */
export class Audit {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /** See `Auditor.audit`. */
  add(act: AuditEvent): Promise<void> {
    const { commit, sql, now } = this.#context;
    return commit.run(() => {
      const { lastInsertRowid } = sql("INSERT INTO act (at, body) VALUES (?, ?)").run(now(), actText(act));
      sql("DELETE FROM act WHERE id <= ?").run(Number(lastInsertRowid) - MAX_ACTS);
    });
  }

  /** See `Auditor.acts`. The cursor is the last one's id. */
  page(
    { cursor, limit = DEFAULT_LIMIT }: { readonly cursor?: string; readonly limit?: number } = {},
  ): Promise<AuditPage> {
    return this.#context.read(() => {
      const before = numberIn(cursor) ?? Number.MAX_SAFE_INTEGER;
      const rows = this.#context.sql("SELECT id, at, body FROM act WHERE id < ? ORDER BY id DESC LIMIT ?")
        .all(before, limit + 1);
      const acts = rows.slice(0, limit).map(({ at, body }) => readAct(String(body), Number(at)));
      return { acts, ...(rows.length > limit && { next: String(rows[limit - 1]!.id) }) };
    });
  }
}
