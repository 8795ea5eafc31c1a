/**
 * The rows of `job`: content, wherever the job is. All of it inside transactions.
 *
 * @module
 */
import type { Context } from "./context.ts";

/** A job's content. */
export interface Content {
  /** Null where the payload has none. */
  readonly jid: string | null;
  readonly payload: string;
}

/** A job with its number, which is its position too. */
export interface JobRow extends Content {
  readonly id: number;
}

/** So many rows in one statement, as long as there are so many: a call costs more than a row. */
const AT_ONCE = [64, 8, 1] as const;

/** Creates jobs with numbers higher than any, one after the other. Returns the first one's. */
export function create(context: Context, contents: readonly Content[]): number {
  let last = 0;
  let done = 0;
  for (const count of AT_ONCE) {
    const insert = context.sql(`INSERT INTO job (jid, payload) VALUES ${marks("(?, ?)", count)}`);
    for (; contents.length - done >= count; done += count) {
      const values: (string | null)[] = [];
      for (let i = done; i < done + count; i++) values.push(contents[i]!.jid, contents[i]!.payload);
      last = Number(insert.run(...values).lastInsertRowid);
    }
  }
  return last - contents.length + 1;
}

/** A job by its number. It must exist. */
export function get(context: Context, id: number): JobRow {
  return context.sql("SELECT id, jid, payload FROM job WHERE id = ?").get(id) as unknown as JobRow;
}

/** Gives a job another payload. */
export function rewrite(context: Context, id: number, payload: string): void {
  context.sql("UPDATE job SET payload = ? WHERE id = ?").run(payload, id);
}

/** Deletes jobs. Their places must go in the same transaction. */
export function remove(context: Context, ids: readonly number[]): void {
  inParts(ids, "id", (where, values) => context.sql(`DELETE FROM job WHERE ${where}`).run(...values));
}

/** So many numbers that follow each other are named by the first and the last. */
const MIN_SPAN = 8;

/**
 * Calls `run` with conditions on a column that name these numbers, all of them together, and with their values. Numbers
 * that follow each other are one span, which costs less than half as much as a list: jobs of one queue mostly do. Lists
 * have one of a few lengths, so that few statements serve all: one that is too short is filled up with its last number
 * again.
 */
export function inParts(
  ids: readonly number[],
  column: string,
  run: (where: string, values: readonly number[]) => void,
): void {
  const sorted = ids.toSorted((a, b) => a - b);
  const rest: number[] = [];
  for (let from = 0; from < sorted.length;) {
    let to = from + 1;
    while (sorted[to] === sorted[to - 1]! + 1) to++;
    if (to - from >= MIN_SPAN) run(`${column} BETWEEN ? AND ?`, [sorted[from]!, sorted[to - 1]!]);
    else rest.push(...sorted.slice(from, to));
    from = to;
  }
  const [most, some, one] = AT_ONCE;
  for (let from = 0; from < rest.length; from += most) {
    const part = rest.slice(from, from + most);
    const length = part.length === 1 ? one : part.length <= some ? some : most;
    while (part.length < length) part.push(part.at(-1)!);
    run(`${column} IN (${marks("?", length)})`, part);
  }
}

/** `?, ?, ?` */
function marks(mark: string, count: number): string {
  return Array(count).fill(mark).join(", ");
}
