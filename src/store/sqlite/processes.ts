/**
 * Processes: who is alive, and what becomes of the leases of those who are not.
 *
 * @module
 */
import { getField, setFields } from "../../job/raw.ts";
import type { ProcessInfo } from "../admin.ts";
import type { ProcessRecord, RescueResult } from "../store.ts";
import type { Context } from "./context.ts";
import type { Dead } from "./dead.ts";
import type { Locks } from "./locks.ts";

interface LeasedRow {
  readonly id: number;
  readonly jid: string | null;
  readonly payload: string;
}

/** Registers processes and rescues the leases of dead ones. */
export class Processes {
  readonly #context: Context;
  readonly #locks: Locks;
  readonly #dead: Dead;

  constructor(context: Context, parts: { locks: Locks; dead: Dead }) {
    this.#context = context;
    this.#locks = parts.locks;
    this.#dead = parts.dead;
  }

  /** See `Store.beat`. */
  beat(process: ProcessRecord, ttlMs: number): Promise<void> {
    return this.#context.commit.run(() => {
      const now = Math.round(this.#context.clock.now());
      this.#context.sql(
        `INSERT INTO process (identity, record, beat_at, deadline) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (identity) DO UPDATE SET record = ?2, beat_at = ?3, deadline = ?4`,
      ).run(process.identity, JSON.stringify(process), now, now + Math.round(ttlMs));
    });
  }

  /** See `Store.deregister`. */
  deregister(identity: string): Promise<void> {
    return this.#context.commit.run(() => {
      this.#context.sql(
        "UPDATE job SET place = 0, owner = NULL, take = NULL, at = NULL WHERE place = 1 AND owner = ?",
      ).run(identity);
      this.#forget(identity);
    });
  }

  /** See `StoreAdmin.processes`. */
  list(): ProcessInfo[] {
    const now = this.#context.clock.now();
    const rows = this.#context.sql("SELECT record, beat_at, deadline FROM process ORDER BY identity").all();
    return rows.map((row) => ({
      ...JSON.parse(String(row.record)) as ProcessRecord,
      beatAt: Number(row.beat_at),
      alive: Number(row.deadline) > now,
    }));
  }

  /** See `Store.rescue`. */
  async rescue(limit: number, maxRescues: number): Promise<RescueResult> {
    if (this.#findDead(this.#context.clock.now()).length === 0) return { rescued: 0, buried: 0, owners: [] };
    return await this.#context.commit.run(() => {
      const now = this.#context.clock.now();
      const owners: string[] = [];
      let rescued = 0;
      let buried = 0;
      for (const owner of this.#findDead(now)) {
        const left = limit - rescued - buried;
        if (left === 0) break;
        owners.push(owner);
        const rows = this.#context.sql(
          "SELECT id, jid, payload FROM job WHERE place = 1 AND owner = ? ORDER BY id LIMIT ?",
        ).all(owner, left) as unknown as LeasedRow[];
        for (const row of rows) {
          if (this.#giveBack(row, maxRescues, now)) rescued++;
          else buried++;
        }
        // It is forgotten when nothing of it is left: until then the next call finds it again.
        if (rows.length < left) this.#forget(owner);
      }
      if (buried > 0) this.#dead.trim(now);
      return { rescued, buried, owners };
    }, limit);
  }

  /** Those whose time is over, and those who have leases and are on no list. */
  #findDead(now: number): string[] {
    const { sql } = this.#context;
    const lapsed = sql("SELECT identity FROM process WHERE deadline <= ?").all(Math.round(now));
    const unknown = sql(
      "SELECT DISTINCT owner AS identity FROM job WHERE place = 1 AND owner NOT IN (SELECT identity FROM process)",
    ).all();
    return [...lapsed, ...unknown].map((row) => String(row.identity));
  }

  /** To the front of its queue, or, rescued too often or unreadable, to `dead`. */
  #giveBack({ id, jid, payload }: LeasedRow, maxRescues: number, now: number): boolean {
    const { sql } = this.#context;
    const rescues = Number(getField(payload, "rescues") ?? 0) + 1;
    let text = payload;
    let isReadable = true;
    try {
      text = setFields(payload, { rescues: String(rescues) });
    } catch {
      isReadable = false;
    }
    if (isReadable && rescues < maxRescues) {
      sql("UPDATE job SET place = 0, owner = NULL, take = NULL, at = NULL, payload = ? WHERE id = ?").run(text, id);
      return true;
    }
    sql("UPDATE job SET place = 4, owner = NULL, take = NULL, at = ?, payload = ? WHERE id = ?")
      .run(Math.round(now), text, id);
    this.#locks.releaseOf(jid);
    return false;
  }

  #forget(identity: string): void {
    this.#context.sql("DELETE FROM process WHERE identity = ?").run(identity);
    this.#context.sql("DELETE FROM command WHERE identity = ?").run(identity);
  }
}
