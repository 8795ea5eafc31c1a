/**
 * Limits on SQLite: what waiting for them costs.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { systemClock } from "../src/clock.ts";
import { GroupCommit } from "../src/store/sqlite/group_commit.ts";
import { type Context, statementCache } from "../src/store/sqlite/context.ts";
import { openDatabase } from "../src/store/sqlite/database.ts";
import { BusyRetry } from "../src/store/sqlite/busy_retry.ts";
import { Queues } from "../src/store/sqlite/take.ts";

const path = ":memory:";
const patience = new BusyRetry({ path, clock: systemClock, waitMs: 0, log: undefined });

Deno.test("sqlite: limits: time is looked at closely only when it is nearly over, and nothing else is in the way", async () => {
  const database = await openDatabase(path, { durability: "normal", patience, create: true });
  const sql = statementCache(database);
  let now = 1_000_000;
  const commit = new GroupCommit(database, { path, clock: systemClock, patience, onCommit: () => {} });
  const queues = new Queues({ sql, commit, now: () => now } as unknown as Context);
  sql("INSERT INTO queue (id, name, size) VALUES (1, 'mail', 5)").run();
  await queues.limit("mail", { running: 1, starts: { count: 1, perMs: 60_000 } });
  assertEquals(queues.hasWork("mail"), true);

  sql("INSERT INTO start VALUES (1, 1000000, 1)").run();
  assertEquals(queues.hasWork("mail"), false);
  now += 59_500;
  assertEquals(queues.hasWork("mail"), "soon");
  sql("INSERT INTO lease (job, queue, owner, take, at) VALUES (1, 1, 'owner', 'take', 1000000)").run();
  assertEquals(queues.hasWork("mail"), false);
  now += 500;
  assertEquals(queues.hasWork("mail"), false);
  sql("DELETE FROM lease").run();
  assertEquals(queues.hasWork("mail"), true);
  database.close();
});
