/**
 * Named leases: one process at a time has one, with a number that is higher at every change of owner.
 *
 * @module
 */
import type { ClaimHolder } from "../port/jobs.ts";
import type { Context } from "./context.ts";

interface ClaimRow {
  readonly owner: string | null;
  readonly fence: number;
  readonly expires: number;
}

/** Keeps the named leases. */
export class WorkerNames {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /** See `Store.claim`. */
  claim(name: string, owner: string, ttlMs: number): Promise<number | undefined> {
    return this.#context.commit.run(() => {
      const { sql } = this.#context;
      const now = this.#context.now();
      const row = this.#row(name);
      const isOurs = row !== undefined && row.owner === owner && row.expires > now;
      if (!isOurs && this.#holderOf(row) !== undefined) return undefined;
      const fence = isOurs ? row.fence : (row?.fence ?? 0) + 1;
      sql("INSERT OR REPLACE INTO claim (name, owner, fence, expires) VALUES (?, ?, ?, ?)")
        .run(name, owner, fence, Math.round(now + ttlMs));
      return fence;
    });
  }

  /** See `Store.holder`; inside a transaction or not. */
  holder(name: string): ClaimHolder | undefined {
    return this.#holderOf(this.#row(name));
  }

  /** See `Store.release`. */
  release(name: string, owner: string): Promise<void> {
    return this.#context.commit.run(() => {
      this.#context.sql("UPDATE claim SET owner = NULL WHERE name = ? AND owner = ?").run(name, owner);
    });
  }

  #row(name: string): ClaimRow | undefined {
    return this.#context.sql("SELECT owner, fence, expires FROM claim WHERE name = ?").get(name) as
      | ClaimRow
      | undefined;
  }

  #holderOf(row: ClaimRow | undefined): ClaimHolder | undefined {
    if (row === undefined || row.owner === null) return undefined;
    const process = this.#context.sql("SELECT deadline FROM process WHERE identity = ?").get(row.owner);
    if (process === undefined) return undefined;
    const beatUntil = Number(process.deadline);
    const freeInMs = Math.min(beatUntil, row.expires) - this.#context.now();
    return freeInMs > 0 ? { owner: row.owner, beatUntil, freeInMs } : undefined;
  }
}
