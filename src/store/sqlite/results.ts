/**
 * Records of jobs that have ended.
 *
 * @module
 */
import { hasText } from "../ops/search.ts";
import { ByteBudget } from "../port/batch_bytes.ts";
import { numberIn } from "../port/cursor.ts";
import { MAX_RECORDS, type NewRecord, type RecordPage } from "../port/results.ts";
import { readBounded } from "./bounded_read.ts";
import type { Context } from "./context.ts";

/** A search looks through so many records before it lets others run. */
const SEARCH_STEP = 1_000;

interface Row {
  readonly id: number;
  readonly body: string;
}

/** Keeps records. */
export class Results {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Keeps a record, in place of an older one of the same job; inside a transaction. */
  add({ jid, ttlMs, body }: NewRecord, now: number): void {
    const { sql } = this.#context;
    sql("DELETE FROM record WHERE jid = ?").run(jid);
    const expires = Number.isFinite(ttlMs) ? Math.round(now + ttlMs) : null;
    sql("INSERT INTO record (jid, body, expires) VALUES (?, ?, ?)").run(jid, body, expires);
  }

  /** Forgets what is over its time or its number; inside a transaction. */
  trim(now: number): void {
    const { sql } = this.#context;
    sql("DELETE FROM record WHERE expires <= ?").run(now);
    sql("DELETE FROM record WHERE id <= (SELECT max(id) FROM record) - ?").run(MAX_RECORDS);
  }

  /**
   * See `ResultStore.keep`.
   *
   * @param isEnded ends the job, in the same transaction; false when there is nothing to end
   */
  keep(record: NewRecord, isEnded: () => boolean): Promise<boolean> {
    return this.#context.commit.run(() => {
      if (!isEnded()) return false;
      const now = this.#context.now();
      this.add(record, now);
      this.trim(now);
      return true;
    });
  }

  /** See `ResultStore.wait`. */
  async wait(jid: string, signal: AbortSignal): Promise<string | undefined> {
    const { watch, read } = this.#context;
    for (;;) {
      await watch.until(() => this.#get(jid) !== undefined, signal);
      if (signal.aborted || watch.isClosed) return undefined;
      const body = await read(() => this.#get(jid));
      if (body !== undefined) return body;
    }
  }

  /** See `ResultStore.get`. */
  get(jid: string): Promise<string | undefined> {
    return this.#context.read(() => this.#get(jid));
  }

  /** See `ResultStore.page`. */
  page(request: { readonly cursor?: string; readonly limit?: number } = {}): Promise<RecordPage> {
    return this.#context.read(() => {
      const limit = request.limit ?? 25;
      const { rows, next } = this.#rows(request.cursor, limit);
      return { records: rows.map((row) => row.body), ...(next !== undefined && { next }) };
    });
  }

  /** See `ResultStore.search`. */
  async search(text: string, limit: number): Promise<string[]> {
    const wanted = text.toLowerCase();
    const found: string[] = [];
    let cursor: string | undefined;
    for (;;) {
      const { rows, next } = await this.#context.read(() => this.#rows(cursor, SEARCH_STEP));
      for (const { body } of rows) {
        if (found.length < limit && hasText(body, wanted)) found.push(body);
      }
      if (next === undefined || found.length === limit) return found;
      cursor = next;
      await this.#context.turn();
    }
  }

  #get(jid: string): string | undefined {
    const { sql, now } = this.#context;
    const row = sql("SELECT body FROM record WHERE jid = ? AND (expires IS NULL OR expires > ?)").get(jid, now());
    return row?.body as string | undefined;
  }

  /** Reads the latest records before the cursor, until they come to 4 MiB. */
  #rows(cursor: string | undefined, limit: number): { readonly rows: readonly Row[]; readonly next?: string } {
    const { sql, now } = this.#context;
    const budget = new ByteBudget();
    const rows = readBounded(
      { limit, budget },
      (count, after: Row | undefined) =>
        sql(
          "SELECT id, body FROM record WHERE id < ? AND (expires IS NULL OR expires > ?) ORDER BY id DESC LIMIT ?",
        ).all(after?.id ?? numberIn(cursor) ?? Number.MAX_SAFE_INTEGER, now(), count) as unknown as Row[],
      ({ body }) => body,
    );
    const last = rows.at(-1);
    return { rows, ...((budget.isSpent || rows.length === limit) && last && { next: String(last.id) }) };
  }
}
