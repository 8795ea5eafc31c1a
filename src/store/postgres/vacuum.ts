/**
 * Vacuums tables whose dead rows autovacuum hasn't removed in time: its interval is the server's, and by default a minute.
 *
 *  1. Only if it helps: not while something holds the horizon, and not while autovacuum is at work.
 *  2. It has a connection by itself, takes no lock that a job waits for, and doesn't shrink files.
 *
 * @module
 */
import { Client } from "./client.ts";
import { isTooOld, MAX_HORIZON_AGE_MS, readHolders } from "./horizon.ts";
import { TABLES } from "./objects.ts";
import type { Upkeep } from "./upkeep.ts";

/** Interval between looks of one process. */
const INTERVAL_MS = 30_000;
const REPLY_TIMEOUT_MS = 600_000;

/** Bounds of dead rows. */
export interface VacuumBounds {
  /** Fewer dead rows are left to autovacuum, which begins at 20,000. */
  readonly deadRows: number;
  /** A table that was vacuumed since isn't late. */
  readonly lateMs: number;
  /** While a transaction has kept dead rows for longer, vacuum wouldn't remove them. */
  readonly heldMs: number;
}

const BOUNDS: VacuumBounds = { deadRows: 50_000, lateMs: 60_000, heldMs: MAX_HORIZON_AGE_MS };

/** Tables of this user's store that are late. A role that isn't their owner may not vacuum them. */
const LATE = `SELECT counted.relname FROM pg_stat_user_tables AS counted JOIN pg_class ON oid = relid
  WHERE schemaname = $1 AND counted.relname = ANY ('{${
  TABLES.join(",")
}}') AND n_dead_tup > $2 AND pg_has_role(relowner, 'USAGE')
    AND coalesce(greatest(last_vacuum, last_autovacuum), '-infinity') < clock_timestamp() - $3 * interval '1 ms'
    AND NOT EXISTS (SELECT FROM pg_stat_progress_vacuum AS running WHERE running.relid = counted.relid)
  ORDER BY n_dead_tup DESC`;

/** Vacuums the tables of one store. */
export class Vacuum {
  readonly #client: Client;
  readonly #upkeep: Upkeep;
  #lookedAt: number;
  #running: Promise<unknown> | undefined;
  #own: Client | undefined;

  constructor(client: Client, upkeep: Upkeep) {
    this.#client = client;
    this.#upkeep = upkeep;
    this.#lookedAt = client.clock.monotonic();
  }

  /** Begins to vacuum if it is time to look, and doesn't wait. */
  tend(): void {
    // It would take one connection more.
    if (this.#client.onlyPolls) return;
    const now = this.#client.clock.monotonic();
    if (this.#running !== undefined || now - this.#lookedAt < INTERVAL_MS) return;
    this.#lookedAt = now;
    this.#running = this.#upkeep.run("vacuum", () => this.run()).finally(() => this.#running = undefined);
  }

  /**
   * Vacuums the tables that are late.
   *
   * @returns their names
   * @throws {StoreError} if the server fails
   */
  async run({ deadRows, lateMs, heldMs }: VacuumBounds = BOUNDS): Promise<string[]> {
    const { address } = this.#client;
    const late = (await this.#client.run(LATE, [address.schema, deadRows, lateMs])).map(({ relname }) =>
      String(relname)
    );
    if (late.length === 0) return [];
    const isHeld = (await readHolders(this.#client)).some((holder) => isTooOld(holder, heldMs));
    if (isHeld) return [];
    this.#own = await Client.create(address, { waitMs: 0, replyTimeoutMs: REPLY_TIMEOUT_MS });
    try {
      for (const table of late) {
        await this.#own.run(`VACUUM (SKIP_LOCKED, TRUNCATE false) ${address.schema}."${table}"`);
      }
    } finally {
      await this.#own.close();
      this.#own = undefined;
    }
    return late;
  }

  /** Ends a running vacuum. */
  async close(): Promise<void> {
    await this.#own?.close();
    await this.#running;
  }
}
