/**
 * Limits on SQLite: the cost of waiting for them.
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
import { hasWork } from "../src/store/sqlite/take.ts";

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
