import { assertEquals } from "@std/assert";
import { systemClock } from "../../clock.ts";
import { BusyRetry } from "./busy_retry.ts";
import { type Context, statementCache } from "./context.ts";
import { openDatabase } from "./database.ts";
import { GroupCommit } from "./group_commit.ts";
import { StepWrites } from "./step_writes.ts";

const MIB = 1024 * 1024;

/** Writes steps with records of some length at once. Returns the number of transactions, and whether each step was written. */
async function write(count: number, length: number): Promise<[transactions: number, areWritten: boolean]> {
  const path = ":memory:";
  const busyRetry = new BusyRetry({ path, clock: systemClock, waitMs: 0 });
  const database = await openDatabase(path, { durability: "normal", busyRetry, create: true });
  database.exec(
    "INSERT INTO lease_worker VALUES (1, 'worker'); INSERT INTO lease (job, queue, worker_id, take, at) VALUES (1, 1, 1, 2, 0)",
  );
  let transactions = 0;
  const commit = new GroupCommit(database, { path, clock: systemClock, busyRetry, onCommit: () => transactions++ });
  const writes = new StepWrites({ database, sql: statementCache(database), commit } as unknown as Context);
  const lease = { worker: "worker", token: "1.2", jid: "j" };
  const records = await Promise.all(
    Array.from({ length: count }, (_, i) => writes.add(lease, { name: `${i}`, record: `${i}`.padEnd(length) })),
  );
  const stored = database.prepare("SELECT record FROM step ORDER BY CAST(name AS INTEGER)").all();
  database.close();
  const areWritten = stored.length === count && stored.every(({ record }, i) => record === records[i]);
  return [transactions, areWritten];
}

Deno.test("steps that end together share a transaction", async () => {
  assertEquals(await write(300, 100), [1, true]);
});

Deno.test("a transaction of steps is bounded by bytes", async () => {
  assertEquals(await write(12, MIB), [3, true]);
  assertEquals(await write(12 * 16, MIB / 16), [3, true]);
});
