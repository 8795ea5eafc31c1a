/**
 * Named leases: one process at a time has one, with a number that is higher at every change of owner.
 *
 * @module
 */
import type { Context } from "./context.ts";

interface ClaimRow {
  readonly owner: string | null;
  readonly fence: number;
  readonly expires: number;
}

/** Keeps the named leases. */
export class Claims {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /** See `Store.claim`. */
  claim(name: string, owner: string, ttlMs: number): Promise<number | undefined> {
    return this.#context.commit.run(() => {
      const { sql } = this.#context;
      const now = this.#context.now();
      const row = sql("SELECT owner, fence, expires FROM claim WHERE name = ?").get(name) as unknown as
        | ClaimRow
        | undefined;
      const isHeld = row !== undefined && row.owner !== null && row.expires > now;
      const isOurs = isHeld && row.owner === owner;
      if (isHeld && !isOurs && this.#isAlive(row.owner!, now)) return undefined;
      const fence = isOurs ? row.fence : (row?.fence ?? 0) + 1;
      sql("INSERT OR REPLACE INTO claim (name, owner, fence, expires) VALUES (?, ?, ?, ?)")
        .run(name, owner, fence, Math.round(now + ttlMs));
      return fence;
    });
  }

  /** See `Store.release`. */
  release(name: string, owner: string): Promise<void> {
    return this.#context.commit.run(() => {
      this.#context.sql("UPDATE claim SET owner = NULL WHERE name = ? AND owner = ?").run(name, owner);
    });
  }

  #isAlive(owner: string, now: number): boolean {
    return this.#context.sql("SELECT 1 FROM process WHERE identity = ? AND deadline > ?").get(owner, now) !== undefined;
  }
}
