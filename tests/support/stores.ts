/**
 * Stores for tests: each is new, is deleted with the test, and has a clock that the test controls.
 *
 * @module
 */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type Clock, systemClock } from "../../src/clock.ts";
import { getField } from "../../src/job/raw.ts";
import type { StoreOptions } from "../../src/store/open.ts";
import { openSqlite } from "../../src/store/sqlite/open.ts";
import type { TestOptions, TestStore } from "../store_contract/harness.ts";
import { writeEmptyStore } from "./empty_store.ts";
import type { Store } from "../../src/store/admin/store.ts";

/** The system clock with an offset. It advances like that of a server, and a test can move it further. */
export class ShiftedClock implements Clock {
  #shiftMs = 0;

  now(): number {
    return systemClock.now() + this.#shiftMs;
  }

  monotonic(): number {
    return systemClock.monotonic();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return systemClock.sleep(ms, signal);
  }

  turn(): Promise<void> {
    return systemClock.turn();
  }

  /** Moves `now` forward, without an effect on sleepers. */
  advance(ms: number): void {
    this.#shiftMs += ms;
  }
}

/** A temporary folder, with the path of a store file that doesn't exist yet. */
export interface TestFolder extends AsyncDisposable {
  readonly dir: string;
  readonly file: string;
  /** Opens a store in the folder, which is closed with it. */
  open(options?: StoreOptions & { readonly parameters?: string }): Promise<Store>;
}

/** Creates a folder for SQLite stores. */
export async function sqliteFolder(): Promise<TestFolder> {
  const dir = await Deno.makeTempDir({ prefix: "jobs-sqlite-" });
  const file = join(dir, "jobs.db");
  const opened: Store[] = [];
  return {
    dir,
    file,
    async open({ parameters = "", ...options } = {}) {
      const store = await openSqlite(`sqlite:${file}${parameters}`, options);
      opened.push(store);
      return store;
    },
    async [Symbol.asyncDispose]() {
      for (const store of opened) await store[Symbol.asyncDispose]();
      await Deno.remove(dir, { recursive: true });
    },
  };
}

/** A new SQLite store, for the contract and for tests that need any store. */
export async function openSqliteTestStore(options: TestOptions = {}): Promise<TestStore> {
  const folder = await sqliteFolder();
  await writeEmptyStore(folder.file);
  const clock = new ShiftedClock();
  const open = () => folder.open({ ...options, clock });
  return {
    store: await open(),
    // Redis has the most that a flow may have.
    largeFlow: 2_400,
    shortLog: "cron:nightly",
    durability: "full",
    another: open,
    now: () => clock.now(),
    advance: (ms) => clock.advance(ms),
    pushRaw: (queue, text) => Promise.resolve(pushRaw(folder.file, queue, text)),
    holding: (text) => Promise.resolve(tablesWith(folder.file, text)),
    async [Symbol.asyncDispose]() {
      try {
        checkPlaces(folder.file);
      } finally {
        await folder[Symbol.asyncDispose]();
      }
    },
  };
}

/**
 * Asserts that the file is valid, and that each job is in exactly one place, or has ended.
 *
 * @throws {Error} with the problem
 */
export function checkPlaces(file: string): void {
  using database = new DatabaseSync(file, { timeout: 5_000 });
  const wrong = database.prepare(
    `WITH place AS (SELECT job FROM queued UNION ALL SELECT job FROM lease UNION ALL SELECT job FROM member
       UNION ALL SELECT job FROM ended)
     SELECT 'no place' AS what, id FROM job WHERE id NOT IN (SELECT job FROM place)
     UNION ALL SELECT 'no job', job FROM place WHERE job NOT IN (SELECT id FROM job)
     UNION ALL SELECT 'many places', job FROM place GROUP BY job HAVING count(*) > 1
     UNION ALL SELECT 'size of ' || place, size FROM set_size
       WHERE size <> (SELECT count(*) FROM member WHERE member.place = set_size.place)
     UNION ALL SELECT 'size of queue ' || name, size FROM queue
       WHERE size <> (SELECT count(*) FROM queued WHERE queued.queue = queue.id)`,
  ).all();
  if (wrong.length > 0) throw new Error(`Places are wrong: ${JSON.stringify(wrong)}`);
  const [damage] = Object.values(database.prepare("PRAGMA integrity_check").get()!);
  if (damage !== "ok") throw new Error(`File is damaged: ${damage}`);
}

function tablesWith(file: string, text: string): string[] {
  using database = new DatabaseSync(file, { timeout: 5_000 });
  const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").all();
  return tables.map(({ name }) => String(name)).filter((table) => {
    const columns = database.prepare("SELECT name FROM pragma_table_info(?)").all(table);
    const contains = columns.map(({ name }) => `instr("${name}", ?1)`).join(" OR ");
    return database.prepare(`SELECT 1 FROM "${table}" WHERE ${contains} LIMIT 1`).get(text) !== undefined;
  });
}

/** Writes with a separate connection, without the adapter. */
export function pushRaw(file: string, queue: string, text: string, timeout = 5_000): void {
  const database = new DatabaseSync(file, { timeout });
  try {
    const jid = getField(text, "jid");
    database.exec("BEGIN IMMEDIATE");
    database.prepare("INSERT OR IGNORE INTO queue (name) VALUES (?)").run(queue);
    database.prepare("INSERT INTO job (jid, payload) VALUES (?, ?)").run(typeof jid === "string" ? jid : null, text);
    database.prepare("INSERT INTO queued SELECT id, last_insert_rowid() FROM queue WHERE name = ?").run(queue);
    database.prepare("UPDATE queue SET size = size + 1 WHERE name = ?").run(queue);
    database.exec("COMMIT");
  } finally {
    database.close();
  }
}
