/**
 * A worker and large jobs, on a Redis with its default settings.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { startRedis } from "../support/redis.ts";

Deno.test("a worker performs 45 queued jobs of 900 kB at once, and its heartbeats don't contain their payloads", async () => {
  await using redis = await startRedis();
  await using bench = await Bench.open(redis.url);
  const filler = "x".repeat(900_000);
  for (let i = 0; i < 45; i++) await bench.push("Listen", [bench.notes, filler]);
  await using server = await bench.server(["--concurrency", "50"], { JOBS_HEARTBEAT: "1" });
  const started = async () => (await bench.readNotes()).filter((line) => line.startsWith("start ")).length;
  await bench.until(async () => await started() === 45, "all jobs have started");
  const work = async () => (await bench.store.workers.list()).flatMap((worker) => worker.work);
  await bench.until(async () => (await work()).length === 45, "a heartbeat lists all jobs");
  for (const { payload } of await work()) {
    assert(payload.length < 1_000, `${payload.length} characters`);
    assertEquals(JSON.parse(payload).class, "Listen");
  }
  assertEquals((await bench.store.admin.stats()).queues.map(({ size }) => size), [0]);
  await bench.go();
  await bench.until(async () => (await bench.store.admin.stats()).processed === 45, "all jobs have ended");
  assertEquals(server.complaints, []);
});
