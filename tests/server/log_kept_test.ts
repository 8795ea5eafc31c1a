/** SQLite's log, which has the latest writes, survives processes that start and end next to a worker. */
import { assertEquals } from "@std/assert";
import { until } from "../support/eventually.ts";
import { jobs, JobsProcess, temporaryFolder } from "../support/process.ts";

Deno.test("a process that pushes and ends does not remove the log of a running worker", async () => {
  await using folder = await temporaryFolder();
  // Only these processes have the store open: the one that pushes could consider itself the last one.
  const store = `sqlite:${folder.path}/jobs.db`;
  const handlers = new URL("../support/handlers.js", import.meta.url).pathname;
  await using server = new JobsProcess({ store, args: [handlers] });
  await server.logged("Ready");
  // After a heartbeat, its thread has the file open, too.
  const beats = async () => JSON.parse((await jobs(["workers", "--json", "--store", store])).stdout).workers[0];
  const first = (await beats()).heartbeatAt;
  await until(async () => (await beats()).heartbeatAt > first, "a beat of the thread");
  for (let count = 1; count <= 3; count++) {
    const { stdout } = await jobs(["push", "Noop", "--store", store]);
    await server.logged("Done", { jid: stdout.trim() });
    await until(async () => JSON.parse((await jobs(["stats", "--json", "--store", store])).stdout).processed === count);
    const { heartbeatAt } = await beats();
    await until(async () => (await beats()).heartbeatAt > heartbeatAt, "another beat");
  }
  // Many at once, which open and close it in any order.
  const pushed = await Promise.all(
    Array.from({ length: 12 }, async () => (await jobs(["push", "Noop", "--store", store])).stdout.trim()),
  );
  for (const jid of pushed) await server.logged("Done", { jid });
  const { heartbeatAt } = await beats();
  await until(async () => (await beats()).heartbeatAt > heartbeatAt, "another beat, with another look at the files");
  assertEquals((await beats()).state, "running");
  assertEquals(server.complaints, []);
});
