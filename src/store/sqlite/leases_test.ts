import { assertEquals } from "@std/assert";
import { systemClock } from "../../clock.ts";
import { BusyRetry } from "./busy_retry.ts";
import { type Context, statementCache } from "./context.ts";
import { openDatabase } from "./database.ts";
import { numberOf } from "./leases.ts";

Deno.test("a new worker gets a number, and those that are gone lose theirs", async () => {
  const path = ":memory:";
  const busyRetry = new BusyRetry({ path, clock: systemClock, waitMs: 0 });
  using database = await openDatabase(path, { durability: "normal", busyRetry, create: true });
  const context = { sql: statementCache(database) } as unknown as Context;
  database.exec("INSERT INTO worker (id, record, heartbeat_at, deadline) VALUES ('idle', '{}', 0, 0)");
  numberOf(context, "idle");
  const busy = numberOf(context, "busy");
  database.exec(`INSERT INTO lease (job, queue, worker_id, take, at) VALUES (1, 1, ${busy}, 1, 0)`);
  numberOf(context, "gone");
  assertEquals(numberOf(context, "busy"), busy);
  numberOf(context, "new");
  const rows = database.prepare("SELECT worker FROM lease_worker ORDER BY worker").all();
  assertEquals(rows.map(({ worker }) => worker), ["busy", "idle", "new"]);
});
