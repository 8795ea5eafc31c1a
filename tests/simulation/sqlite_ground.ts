/**
 * SQLite in memory, as the store of a simulation: one database, to which each process has a separate adapter.
 *
 * @module
 */
import type { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../src/clock.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { BusyRetry } from "../../src/store/sqlite/busy_retry.ts";
import { type Context, statementCache } from "../../src/store/sqlite/context.ts";
import { openDatabase } from "../../src/store/sqlite/database.ts";
import { translate } from "../../src/store/sqlite/errors.ts";
import { GroupCommit } from "../../src/store/sqlite/group_commit.ts";
import { sqliteStore } from "../../src/store/sqlite/store.ts";
import { Watch } from "../../src/store/sqlite/watch.ts";
import type { Ground, LastState, StoreState } from "./ground.ts";
import type { Link } from "./link.ts";
import { CONSISTENCY as SHARED, forSqlite, LEFTOVERS } from "./queries.ts";
import type { Machine, World } from "./world.ts";

const PATH = ":memory:";
/** How often waiters look without a commit: for waits that end by the clock. */
const POLL_MS = 5_000;
/** A process sees the commits of others after this time. */
const SEEN_MS = 5;
const DEAD_MAX_JOBS = 10_000;
const DEAD_MAX_AGE_MS = 180 * 24 * 3_600_000;

/** Each finds what must not be, at any moment between two transactions. */
const CONSISTENCY = {
  "a job is in one place": `SELECT id, jid FROM job WHERE
    (SELECT count(*) FROM queued WHERE job = job.id) + (SELECT count(*) FROM ended WHERE job = job.id) + (SELECT count(*) FROM lease WHERE job = job.id)
    + (SELECT count(*) FROM member WHERE job = job.id) <> 1`,
  "a place has a job":
    `SELECT job FROM (SELECT job FROM queued UNION ALL SELECT job FROM lease UNION ALL SELECT job FROM member)
    WHERE job NOT IN (SELECT id FROM job)`,
  "a queue knows its size":
    `SELECT name, size FROM queue WHERE size <> (SELECT count(*) FROM queued WHERE queue = queue.id)`,
  "a queue knows its groups": `SELECT name, grouped FROM queue WHERE parent IS NULL
    AND grouped <> (SELECT coalesce(sum(size), 0) FROM queue AS of WHERE of.parent = queue.id)`,
  "a set knows its size":
    `SELECT place, size FROM set_size WHERE size <> (SELECT count(*) FROM member WHERE place = set_size.place)`,
  ...forSqlite(SHARED),
};
const REMAINS = forSqlite(LEFTOVERS);

/** One database. */
interface Side {
  readonly database: DatabaseSync;
  readonly sql: Context["sql"];
  readonly watches: Set<Watch>;
  /** How many rows were changed in it. */
  changes: number;
  /** The last look of the judges, and after how many changes. */
  seen?: { readonly changes: number; readonly state: StoreState };
  /** The processes whose commits the others will see soon. */
  readonly committed: Set<Watch>;
}

export class SqliteGround implements Ground {
  readonly name = "sqlite";
  /** The store's wall clock may be set, too. */
  clockError = 0;
  /** The store, and the one to which it may be migrated. */
  #sides: readonly [Side, Side];
  readonly #tables: readonly string[];
  /** Statements that bring back the rows of a new database. */
  readonly #firstRows: readonly string[];
  #world!: World;
  #isNextUsed = false;

  private constructor(sides: readonly [Side, Side]) {
    this.#sides = sides;
    const tables = this.#rows("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
    this.#tables = ["sqlite_sequence", ...tables.map(({ name }) => String(name))];
    this.#firstRows = this.#tables.flatMap((name) =>
      this.#rows(`SELECT * FROM ${name}`).map((row) =>
        `INSERT INTO ${name} VALUES (${
          Object.values(row).map((value) => typeof value === "string" ? `'${value}'` : value)
        })`
      )
    );
  }

  static async open(): Promise<SqliteGround> {
    const clock: Clock = {
      now: () => 0,
      monotonic: () => 0,
      turn: () => Promise.resolve(),
      sleep: () => Promise.resolve(),
    };
    const busyRetry = new BusyRetry({ path: PATH, clock, waitMs: 0 });
    const openSide = async (): Promise<Side> => {
      const database = await openDatabase(PATH, { durability: "normal", busyRetry, create: true });
      return {
        database,
        sql: statementCache(database),
        watches: new Set(),
        changes: 0,
        committed: new Set(),
      };
    };
    return new SqliteGround([await openSide(), await openSide()]);
  }

  /** Empties it for another run: creating the tables takes longer than most runs. */
  renew(world: World): Promise<void> {
    this.#world = world;
    this.clockError = 0;
    this.#empty(this.#sides[0]);
    if (this.#isNextUsed) this.#empty(this.#sides[1]);
    this.#isNextUsed = false;
    return Promise.resolve();
  }

  #empty(side: Side): void {
    const { sql, watches } = side;
    watches.clear();
    side.committed.clear();
    // To delete from an empty table takes longer than to find that it is empty, and most are.
    const filled = sql(`SELECT ${this.#tables.map((name) => `EXISTS (SELECT 1 FROM ${name}) AS ${name}`)}`).get()!;
    sql("BEGIN").run();
    for (const name of this.#tables) if (filled[name] === 1) sql(`DELETE FROM ${name}`).run();
    for (const insert of this.#firstRows) sql(insert).run();
    sql("COMMIT").run();
    side.changes = changesIn(sql);
  }

  get now(): number {
    return Math.round(this.#world.now + this.clockError);
  }

  /** Returns the store as a process opens it. */
  connect(machine: Machine, link: Link): Promise<Store> {
    return this.#open(this.#sides[0], "store", machine, link);
  }

  moveOn(): void {
    this.#isNextUsed = true;
    this.#sides = [this.#sides[1], this.#sides[0]];
  }

  connectBefore(machine: Machine, link: Link): Promise<Store> {
    return this.#open(this.#sides[1], "before", machine, link);
  }

  leftBehind(): Promise<readonly string[]> {
    const left = this.#sides[1].sql("SELECT jid, place FROM entry UNION ALL SELECT id, 'batch' FROM batch").all();
    return Promise.resolve(left.map((row) => JSON.stringify(row)));
  }

  #open(side: Side, name: string, machine: Machine, link: Link): Promise<Store> {
    const { sql, watches } = side;
    const database = withCache(side);
    // Each verb is executed as a whole, so its turns of the event loop let nothing else in.
    const clock: Clock = { ...machine.clock, turn: () => Promise.resolve() };
    const watch = new Watch(database, () => undefined, {
      pollMs: POLL_MS,
      repeat: (...args) => machine.repeat(...args),
    });
    watches.add(watch);
    const commit = new GroupCommit(database, {
      path: PATH,
      clock,
      busyRetry: new BusyRetry({ path: PATH, clock, waitMs: 0 }),
      onCommit: () => {
        // A commit that has changed nothing wakes no waiter.
        const changes = changesIn(sql);
        if (changes === side.changes) return;
        side.changes = changes;
        watch.changed();
        this.#wakeOthers(side, watch);
      },
    });
    let takes = this.#world.random.word() >>> 1;
    const store = sqliteStore(`sqlite:${PATH}${name}`, {
      ...{ database, sql, commit, watch },
      now: () => this.now,
      newTake: () => ++takes,
      turn: clock.turn,
      read: (run) => {
        try {
          return Promise.resolve(run());
        } catch (error) {
          return Promise.reject(translate(error, PATH));
        }
      },
      checkFile: () => {},
      close: () => void watches.delete(watch),
      wire: 7,
      deadMaxJobs: DEAD_MAX_JOBS,
      deadMaxAgeMs: DEAD_MAX_AGE_MS,
    });
    return Promise.resolve(link.through(store));
  }

  /** Other processes see the commits of some time together. */
  #wakeOthers({ committed, watches }: Side, by: Watch): void {
    if (committed.add(by).size > 1) return;
    this.#world.at(this.#world.time + SEEN_MS, undefined, () => {
      for (const one of watches) if (committed.size > 1 || one !== by) one.changed();
      committed.clear();
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    for (const { database } of this.#sides) database.close();
    return Promise.resolve();
  }

  /** Looks at the store, unless it hasn't changed since the last look. */
  look(): Promise<StoreState> {
    const side = this.#sides[0];
    if (side.seen?.changes !== side.changes) side.seen = { changes: side.changes, state: this.#look() };
    return Promise.resolve(side.seen.state);
  }

  #look(): StoreState {
    const jobs = this.#rows(
      "SELECT jid, place, worker, payload ->> '$.occurrence' IS NOT NULL AS cron FROM entry ORDER BY id",
    );
    // A flow whose node is dead stops there, until an operator retries it.
    const batches = this.#rows(
      `SELECT id, flow, coalesce(complete_at, abandoned_at) IS NOT NULL OR flow = 1 AND dead > 0 AND pending = waiting AS ended
        FROM batch ORDER BY id`,
    );
    return {
      jobs: jobs.map(({ jid, place, worker, cron }) => ({
        ...{ jid: String(jid), place: String(place), isCron: cron === 1 },
        ...(worker !== null && { worker: String(worker) }),
      })),
      workers: this.#rows("SELECT id FROM worker").map(({ id }) => String(id)),
      batches: batches.map(({ id, flow, ended }) => ({ id: String(id), isFlow: flow === 1, isEnded: ended === 1 })),
      wrong: this.#violated(CONSISTENCY),
    };
  }

  holder(jid: string): Promise<string | undefined> {
    const row = this.#sides[0].sql(`SELECT worker FROM job JOIN lease ON lease.job = job.id
      JOIN lease_worker ON lease_worker.id = worker_id WHERE jid = ?`).get(jid);
    return Promise.resolve(row && String(row["worker"]));
  }

  lookLast(): Promise<LastState> {
    const records = this.#rows("SELECT text FROM log WHERE name = 'cron:tick' ORDER BY number");
    return Promise.resolve({
      left: this.#violated(REMAINS),
      signals: this.#rows("SELECT data FROM signal").map(({ data }) => Number(data)),
      records: records.map(({ text }) => JSON.parse(String(text))),
    });
  }

  /** Returns the queries that have rows, with their first row. Nearly always none has: one statement finds that. */
  #violated(queries: Readonly<Record<string, string>>): string[] {
    const { sql } = this.#sides[0];
    if (
      sql(`SELECT ${Object.values(queries).map((query) => `EXISTS (${query})`).join(" OR ")} AS one`).get()!["one"] ===
        0
    ) {
      return [];
    }
    return Object.entries(queries).flatMap(([what, query]) => {
      const row = sql(query).get();
      return row === undefined ? [] : [`${what}: ${JSON.stringify(row)}`];
    });
  }

  #rows(sql: string): Record<string, unknown>[] {
    return this.#sides[0].sql(sql).all() as Record<string, unknown>[];
  }
}

/** Returns a database that prepares each statement once for all processes. */
function withCache({ database, sql }: Side): DatabaseSync {
  const cached: Pick<DatabaseSync, "prepare" | "exec" | "isTransaction"> = {
    prepare: sql,
    exec: (text) => database.exec(text),
    get isTransaction() {
      return database.isTransaction;
    },
  };
  return cached as DatabaseSync;
}

function changesIn(sql: Context["sql"]): number {
  return Number(sql("SELECT total_changes() AS n").get()!["n"]);
}
