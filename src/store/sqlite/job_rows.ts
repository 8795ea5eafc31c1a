/**
 * The rows of `job`: the content of jobs in any place. All of it inside transactions.
 *
 * @module
 */
import { batchIn } from "../../job/batch.ts";
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

/** Numbers of rows per statement, the largest that fits first: a call costs more than a row. */
export const ROWS_PER_STATEMENT = [64, 8, 1] as const;

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
  inParts(ids, "id", (where, values) => context.sql(`DELETE FROM job WHERE ${where}`).run(...values));
}

/** Shortest run of consecutive numbers that is named by its first and last. */
const MIN_SPAN = 8;

/**
 * Calls `run` with conditions on a column, and their values, that together match these numbers. Consecutive numbers become
 * one range, which costs less than half as much as a list: the jobs of one queue usually are consecutive. Lists have one of a
 * few lengths, so that few statements serve all. A list that is too short repeats its last number.
 */
export function inParts(
  ids: readonly number[],
  column: string,
  run: (where: string, values: readonly number[]) => void,
): void {
  const sorted = new Float64Array(ids).sort();
  const rest: number[] = [];
  for (let from = 0; from < sorted.length;) {
    let to = from + 1;
    while (sorted[to] === sorted[to - 1]! + 1) to++;
    if (to - from >= MIN_SPAN) run(`${column} BETWEEN ? AND ?`, [sorted[from]!, sorted[to - 1]!]);
    else for (let i = from; i < to; i++) rest.push(sorted[i]!);
    from = to;
  }
  const [most, some, one] = ROWS_PER_STATEMENT;
  for (let from = 0; from < rest.length; from += most) {
    const part = rest.slice(from, from + most);
    const length = part.length === 1 ? one : part.length <= some ? some : most;
    while (part.length < length) part.push(part.at(-1)!);
    run(`${column} IN (${marks("?", length)})`, part);
  }
}

/** Returns `?, ?, ?`. */
export function marks(mark: string, count: number): string {
  return Array(count).fill(mark).join(", ");
}
