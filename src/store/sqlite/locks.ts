/**
 * Locks: "a job like this is there already", and named leases among processes.
 *
 * @module
 */
import type { UniqueLock } from "../store.ts";
import type { Context } from "./context.ts";
import { endLive } from "./cron.ts";

/** Unique locks. All inside a transaction. */
export class Locks {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Takes the lock for a job; returns the jid of the one that has it, if another does. */
  take({ key, ttlMs }: UniqueLock, jid: string, now: number): string | undefined {
    const { sql } = this.#context;
    const held = sql("SELECT jid FROM unique_lock WHERE key = ? AND expires > ?").get(key, Math.round(now));
    if (held !== undefined) return String(held.jid);
    sql("INSERT OR REPLACE INTO unique_lock (key, jid, expires) VALUES (?, ?, ?)")
      .run(key, jid, Math.round(now + ttlMs));
    return undefined;
  }

  /** Lets go of the lock, if that job has it. */
  release(key: string, jid: string | undefined): void {
    this.#context.sql("DELETE FROM unique_lock WHERE key = ?1 AND (?2 IS NULL OR jid = ?2)").run(key, jid ?? null);
  }

  /** Lets go of whatever a job has: its lock, and its place as the live job of a crontab entry. */
  releaseOf(jid: string | null): void {
    if (jid === null) return;
    this.#context.sql("DELETE FROM unique_lock WHERE jid = ?").run(jid);
    endLive(this.#context, jid);
  }
}

/** Named leases. */
export class Claims {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /** See `Store.claim`. */
  claim(name: string, owner: string, ttlMs: number): Promise<number | undefined> {
    return this.#context.commit.run(() => {
      const { sql } = this.#context;
      const now = Math.round(this.#context.clock.now());
      const row = sql("SELECT owner, fence, expires FROM claim WHERE name = ?").get(name) as
        | { owner: string | null; fence: number; expires: number }
        | undefined;
      const isOwn = row?.owner === owner && row.expires > now;
      if (row && !isOwn && row.owner !== null && row.expires > now && this.#isAlive(row.owner, now)) return undefined;
      const fence = isOwn ? row.fence : (row?.fence ?? 0) + 1;
      sql("INSERT OR REPLACE INTO claim (name, owner, fence, expires) VALUES (?, ?, ?, ?)")
        .run(name, owner, fence, now + Math.round(ttlMs));
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
