/**
 * Waiting for work on SQLite: its cost, and limits.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { systemClock } from "../src/clock.ts";
import { type Context, DIALECT, statementCache } from "../src/store/sqlite/context.ts";
import { openDatabase } from "../src/store/sqlite/database.ts";
import { BusyRetry } from "../src/store/sqlite/busy_retry.ts";
import { runNow } from "../src/store/sql/body.ts";
import { configure } from "../src/store/sql/configure.ts";
import { sqliteStore } from "../src/store/sqlite/store.ts";
import { hasWork } from "../src/store/sqlite/take.ts";
import { Watch } from "../src/store/sqlite/watch.ts";

const path = ":memory:";
const busyRetry = new BusyRetry({ path, clock: systemClock, waitMs: 0, log: undefined });

Deno.test("sqlite: hasWork returns soon only if a limit opens within a second without another event", async () => {
  const database = await openDatabase(path, { durability: "normal", busyRetry, create: true });
  const sql = statementCache(database);
  let now = 1_000_000;
  const context = { sql, now: () => now } as unknown as Context;
  sql("INSERT INTO queue (id, name, size) VALUES (1, 'mail', 5)").run();
  runNow(configure(DIALECT, "mail", { limit: { running: 1, starts: { count: 1, perMs: 60_000 } } }, now), sql);
  assertEquals(hasWork(context, "mail"), true);

  sql("INSERT INTO start VALUES (1, 1000000, 1)").run();
  assertEquals(hasWork(context, "mail"), false);
  now += 59_500;
  assertEquals(hasWork(context, "mail"), "soon");
  sql("INSERT INTO lease (job, queue, worker_id, take, at) VALUES (1, 1, 1, 1, 1000000)").run();
  assertEquals(hasWork(context, "mail"), false);
  now += 500;
  assertEquals(hasWork(context, "mail"), false);
  sql("DELETE FROM lease").run();
  assertEquals(hasWork(context, "mail"), true);
  database.close();
});

Deno.test("sqlite: a waiter finds with one statement that none of its queues has jobs", async () => {
  const database = await openDatabase(path, { durability: "normal", busyRetry, create: true });
  const prepare = statementCache(database);
  let statements = 0;
  const sql = (text: string) => {
    statements++;
    return prepare(text);
  };
  const watch = new Watch(database, () => undefined);
  const context = { database, sql, watch, now: Date.now, checkFile: () => {} } as unknown as Context;
  const store = sqliteStore("sqlite::memory:", context);
  const names = Array.from({ length: 50 }, (_, i) => `queue${i}`);
  for (const name of names) sql("INSERT INTO queue (name) VALUES (?)").run(name);
  const done = new AbortController();
  statements = 0;
  const waiting = store.watch({ work: names }, done.signal);
  // A look before the wait begins, and one after.
  assertEquals(statements, 2);
  done.abort();
  assertEquals(await waiting, false);
  sql("UPDATE queue SET size = 1 WHERE name = 'queue49'").run();
  assertEquals(await store.watch({ work: names }, new AbortController().signal), true);
  database.close();
});
