/**
 * The cron part of the port. One transaction writes entries together with the jobs that follow.
 *
 * @module
 */
import type { CronReading, CronRemoval, CronStore, CronWrite, StoredCron } from "../port/cron.ts";
import { type Body, type Engine, lock, query, type Row } from "./body.ts";
import { record } from "./events.ts";
import { addEntry } from "./logs.ts";

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
  readonly #engine: Engine;
  /** The number of announced changes at the last read of all entries. */
  #changesRead = -1;

  /** The number of announced changes at the last read of all entries. */
  get changesRead(): number {
    return this.#changesRead;
  }

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async read(
    { names, configured = [] }: { readonly names?: readonly string[]; readonly configured?: readonly string[] } = {},
  ): Promise<CronReading> {
    if (configured.length > 0) {
      await this.#engine.write((now) => markSeen(configured, now), { rows: configured.length });
    }
    const { changes, ...reading } = await this.#engine.read((now) => readEntries(names, now));
    if (names === undefined) this.#changesRead = changes;
    return reading;
  }

  write(writes: readonly (CronWrite | CronRemoval)[]): Promise<(number | undefined)[]> {
    const rowsOf = (write: CronWrite | CronRemoval) =>
      "remove" in write ? 1 : 1 + write.jobs.length + write.records.length;
    const rows = writes.reduce((sum, write) => sum + rowsOf(write), 0);
    return this.#engine.write((now) => writeAll(this.#engine, writes, now), { rows });
  }

  /** Returns whether a change was announced since the last read of all entries. */
  *hasChanged(): Body<boolean> {
    return (yield* countChanges()) !== this.#changesRead;
  }
}

/** A job has left the store, or is dead: its cron entry no longer has a live job. */
export function* endLive(jid: string): Body<void> {
  const [entry] = yield query("SELECT name, awaited FROM cron WHERE live = ?1", [jid]);
  if (entry === undefined) return;
  const version = yield* nextVersion();
  yield query("UPDATE cron SET live = NULL, awaited = 0, version = ?1 WHERE name = ?2", [version, String(entry.name)]);
  if (entry.awaited === 1) yield* announceChange();
}

function* markSeen(names: readonly string[], now: number): Body<void> {
  for (const name of names) yield query("UPDATE cron SET seen_at = ?1 WHERE name = ?2", [now, name]);
}

function* readEntries(names: readonly string[] | undefined, now: number): Body<CronReading & { changes: number }> {
  // Read the number before the entries: a change in between is then reported twice rather than missed.
  const changes = yield* countChanges();
  const rows: Row[] = [];
  if (names === undefined) rows.push(...yield query("SELECT * FROM cron ORDER BY name"));
  for (const name of names ?? []) rows.push(...yield query("SELECT * FROM cron WHERE name = ?1", [name]));
  return { changes, now, entries: (rows as unknown as readonly CronRow[]).map(toStored) };
}

function* writeAll(
  engine: Engine,
  writes: readonly (CronWrite | CronRemoval)[],
  now: number,
): Body<(number | undefined)[]> {
  yield lock("cron");
  const versions: (number | undefined)[] = [];
  for (const write of writes) {
    versions.push("remove" in write ? yield* remove(write) : yield* apply(engine, write, now));
  }
  return versions;
}

function* remove({ name, version }: CronRemoval): Body<number | undefined> {
  const [removed] = yield query("DELETE FROM cron WHERE name = ?1 AND version = ?2 RETURNING 1", [name, version]);
  if (removed === undefined) return undefined;
  yield query("DELETE FROM log WHERE name = ?1", [`cron:${name}`]);
  yield* announceChange();
  return version;
}

function* apply(
  engine: Engine,
  { name, version, definition, state, jobs, awaited, records, follow = [], events = [] }: CronWrite,
  now: number,
): Body<number | undefined> {
  const [stored] = (yield query("SELECT * FROM cron WHERE name = ?1", [name])) as unknown as readonly CronRow[];
  if ((stored?.version ?? 0) !== version) return undefined;
  const next = yield* nextVersion();
  yield query(
    `INSERT INTO cron (name, version, definition, state, live, awaited, seen_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
     ON CONFLICT (name) DO UPDATE SET version = ?2, definition = ?3, state = ?4, live = ?5, awaited = ?6, seen_at = ?7`,
    [
      ...[name, next, definition ?? stored?.definition ?? "", state, jobs.at(-1)?.jid ?? stored?.live ?? null],
      ...[awaited ? 1 : 0, definition === undefined ? stored?.seen_at ?? 0 : now],
    ],
  );
  yield* engine.storeJobs([...jobs, ...follow], now);
  for (const members of events) yield* record(members, now);
  for (const text of records) yield* addEntry(`cron:${name}`, text, now);
  if (definition !== undefined) yield* announceChange();
  return next;
}

function* countChanges(): Body<number> {
  const [row] = yield query("SELECT told FROM cron_counter");
  return Number(row!.told);
}

function* nextVersion(): Body<number> {
  const [row] = yield query("UPDATE cron_counter SET version = version + 1 RETURNING version");
  return Number(row!.version);
}

function* announceChange(): Body<void> {
  yield query("UPDATE cron_counter SET told = told + 1");
}

function toStored({ name, version, definition, state, live, seen_at }: CronRow): StoredCron {
  return { name, version, definition, state, live: live ?? undefined, seenAt: seen_at };
}
