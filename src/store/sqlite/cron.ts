/**
 * The cron part of the port. One transaction writes entries together with the jobs that follow.
 *
 * @module
 */
import type { CronReading, CronRemoval, CronStore, CronWrite, StoredCron } from "../port/cron.ts";
import type { Context } from "./context.ts";
import * as logs from "./logs.ts";
import * as newJobs from "./new_jobs.ts";

/** A row of the table. */
interface CronRow {
  readonly name: string;
  readonly version: number;
  readonly definition: string;
  readonly state: string;
  readonly live: string | null;
  readonly seen_at: number;
}

/** Stores the cron entries. */
export class Cron implements CronStore {
  readonly #context: Context;
  /** The number of announced changes at the last read of all entries. */
  #changesRead = -1;

  constructor(context: Context) {
    this.#context = context;
  }

  async read(
    { names, configured = [] }: { readonly names?: readonly string[]; readonly configured?: readonly string[] } = {},
  ): Promise<CronReading> {
    const { sql, now, commit } = this.#context;
    if (configured.length > 0) {
      await commit.run(() => {
        const seenAt = now();
        for (const name of configured) sql("UPDATE cron SET seen_at = ? WHERE name = ?").run(seenAt, name);
      }, { rows: configured.length });
    }
    return await this.#context.read(() => {
      // Read the number before the entries: a change in between is then reported twice rather than missed.
      if (names === undefined) this.#changesRead = this.#changes();
      const rows = names === undefined
        ? sql("SELECT * FROM cron ORDER BY name").all()
        : names.map((name) => sql("SELECT * FROM cron WHERE name = ?").get(name)).filter((row) => row !== undefined);
      return { now: now(), entries: (rows as unknown as CronRow[]).map(toStored) };
    });
  }

  write(writes: readonly (CronWrite | CronRemoval)[]): Promise<(number | undefined)[]> {
    const rowsOf = (write: CronWrite | CronRemoval) =>
      "remove" in write ? 1 : 1 + write.jobs.length + write.records.length;
    const rows = writes.reduce((sum, write) => sum + rowsOf(write), 0);
    const apply = (write: CronWrite | CronRemoval) => "remove" in write ? this.#remove(write) : this.#apply(write);
    return this.#context.commit.run(() => writes.map(apply), { rows });
  }

  /** Returns whether a change was announced since the last read of all entries. */
  hasChanged(): boolean {
    return this.#changes() !== this.#changesRead;
  }

  #changes(): number {
    return Number(this.#context.sql("SELECT told FROM cron_counter").get()!.told);
  }

  #remove({ name, version }: CronRemoval): number | undefined {
    const { sql } = this.#context;
    if (sql("DELETE FROM cron WHERE name = ? AND version = ?").run(name, version).changes === 0) return undefined;
    sql("DELETE FROM log WHERE name = ?").run(`cron:${name}`);
    announceChange(this.#context);
    return version;
  }

  #apply({ name, version, definition, state, jobs, awaited, records }: CronWrite): number | undefined {
    const { sql, now } = this.#context;
    const stored = sql("SELECT * FROM cron WHERE name = ?").get(name) as unknown as CronRow | undefined;
    if ((stored?.version ?? 0) !== version) return undefined;
    const next = nextVersion(this.#context);
    sql(
      `INSERT OR REPLACE INTO cron (name, version, definition, state, live, awaited, seen_at)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
    ).run(
      name,
      next,
      definition ?? stored?.definition ?? "",
      state,
      jobs.at(-1)?.jid ?? stored?.live ?? null,
      awaited ? 1 : 0,
      definition === undefined ? stored?.seen_at ?? 0 : now(),
    );
    newJobs.store(this.#context, jobs, now());
    for (const record of records) logs.add(this.#context, `cron:${name}`, record);
    if (definition !== undefined) announceChange(this.#context);
    return next;
  }
}

/** A job has left the store, or is dead: its cron entry no longer has a live job. Inside a transaction. */
export function endLive(context: Context, jid: string): void {
  const { sql } = context;
  const entry = sql("SELECT name, awaited FROM cron WHERE live = ?").get(jid);
  if (entry === undefined) return;
  sql("UPDATE cron SET live = NULL, awaited = 0, version = ? WHERE name = ?")
    .run(nextVersion(context), String(entry.name));
  if (entry.awaited === 1) announceChange(context);
}

function nextVersion({ sql }: Context): number {
  return Number(sql("UPDATE cron_counter SET version = version + 1 RETURNING version").get()!.version);
}

function announceChange({ sql }: Context): void {
  sql("UPDATE cron_counter SET told = told + 1").run();
}

function toStored({ name, version, definition, state, live, seen_at }: CronRow): StoredCron {
  return { name, version, definition, state, live: live ?? undefined, seenAt: seen_at };
}
