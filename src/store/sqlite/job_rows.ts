/**
 * The rows of `job`: the content of jobs in any place. All of it inside transactions.
 *
 * @module
 */
import { batchIn } from "../../job/batch.ts";
import { inParts, ROWS_PER_STATEMENT } from "../sql/in_parts.ts";
import type { Context } from "./context.ts";

/** A job's content. */
export interface Content {
  /** Null if the payload has none. */
  readonly jid: string | null;
  readonly payload: string;
}

/** A new job. */
export interface NewContent extends Content {
  /** The batch that the payload names, if the caller knows it. */
  readonly batch?: string | undefined;
}

/** A job with its number, which is also its position. */
export interface JobRow extends Content {
  readonly id: number;
}

/** Creates jobs with consecutive numbers, higher than all others. Returns the first number. */
export function create(context: Context, contents: readonly NewContent[]): number {
  let last = 0;
  let done = 0;
  for (const count of ROWS_PER_STATEMENT) {
    const insert = context.sql(`INSERT INTO job (jid, payload, batch) VALUES ${marks("(?, ?, ?)", count)}`);
    for (; contents.length - done >= count; done += count) {
      const values: (string | null)[] = [];
      for (let i = done; i < done + count; i++) {
        const { jid, payload, batch = batchIn(payload) ?? null } = contents[i]!;
        values.push(jid, payload, batch);
      }
      last = Number(insert.run(...values).lastInsertRowid);
    }
  }
  return last - contents.length + 1;
}

/** Returns a job by its number. It must exist. */
export function get(context: Context, id: number): JobRow {
  return context.sql("SELECT id, jid, payload FROM job WHERE id = ?").get(id) as unknown as JobRow;
}

/** Replaces the payload of a job. */
export function rewrite(context: Context, id: number, payload: string): void {
  context.sql("UPDATE job SET payload = ? WHERE id = ?").run(payload, id);
}

/** Deletes jobs. The caller deletes their places in the same transaction. */
export function remove(context: Context, ids: readonly number[]): void {
  for (const { where, values } of inParts(ids, "id")) context.sql(`DELETE FROM job WHERE ${where}`).run(...values);
}

/** Returns `?, ?, ?`. */
export function marks(mark: string, count: number): string {
  return Array(count).fill(mark).join(", ");
}
