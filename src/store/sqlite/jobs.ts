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

/** Creates and deletes jobs. */
export class Jobs {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Creates jobs with numbers higher than any, one after the other. Returns the first one's. */
  create(contents: readonly Content[]): number {
    let last = 0;
    let done = 0;
    for (const count of AT_ONCE) {
      const insert = this.#context.sql(`INSERT INTO job (jid, payload) VALUES ${list("(?, ?)", count)}`);
      for (; contents.length - done >= count; done += count) {
        const values: (string | null)[] = [];
        for (let i = done; i < done + count; i++) values.push(contents[i]!.jid, contents[i]!.payload);
        last = Number(insert.run(...values).lastInsertRowid);
      }
    }
    return last - contents.length + 1;
  }

  /** Gives a job another payload. */
  rewrite(id: number, payload: string): void {
    this.#context.sql("UPDATE job SET payload = ? WHERE id = ?").run(payload, id);
  }

  /** Deletes jobs. Their places must go in the same transaction. */
  delete(ids: readonly number[]): void {
    inChunks(ids, (chunk) => {
      this.#context.sql(`DELETE FROM job WHERE id IN (${list("?", chunk.length)})`).run(...chunk);
    });
  }
}

/** Calls `run` with as many as {@linkcode AT_ONCE} allows, until all have been through. */
export function inChunks<Item>(items: readonly Item[], run: (chunk: readonly Item[]) => void): void {
  let done = 0;
  for (const count of AT_ONCE) {
    for (; items.length - done >= count; done += count) run(items.slice(done, done + count));
  }
}

/** `?, ?, ?` */
export function list(text: string, count: number): string {
  return Array(count).fill(text).join(", ");
}
