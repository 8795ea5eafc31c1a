import { assertEquals } from "@std/assert";
import { systemClock } from "../../clock.ts";
import { BusyRetry } from "./busy_retry.ts";
import { statementCache } from "./context.ts";
import { openDatabase } from "./database.ts";
import { runNow } from "../sql/body.ts";
import { numberOf as number } from "../sql/leases.ts";

Deno.test("a new worker gets a number, and those that are gone lose theirs", async () => {
  const path = ":memory:";
  const busyRetry = new BusyRetry({ path, clock: systemClock, waitMs: 0 });
  using database = await openDatabase(path, { durability: "normal", busyRetry, create: true });
  const numberOf = (worker: string) => runNow(number(worker), statementCache(database));
  database.exec("INSERT INTO worker (id, record, heartbeat_at, deadline) VALUES ('idle', '{}', 0, 0)");
  numberOf("idle");
  const busy = numberOf("busy");
  database.exec(`INSERT INTO lease (job, queue, worker_id, take, at) VALUES (1, 1, ${busy}, 1, 0)`);
  numberOf("gone");
  assertEquals(numberOf("busy"), busy);
  numberOf("new");
  const rows = database.prepare("SELECT worker FROM lease_worker ORDER BY worker").all();
  assertEquals(rows.map(({ worker }) => worker), ["busy", "idle", "new"]);
});
