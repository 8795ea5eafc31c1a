/**
 * Redis is down for a while: running jobs continue, their outcomes are kept and stored afterwards, and the log has one line
 * about the outage and one about the recovery.
 *
 * @module
 */
import { assertEquals, assertMatch } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { startRedis } from "../support/redis.ts";

/** Long enough that an outage on a busy machine doesn't make a worker offline. */
const PATIENT = { JOBS_HEARTBEAT_TIMEOUT: "30s", JOBS_HEARTBEAT: "500ms" };

Deno.test("jobs that run while Redis is down end once, and are settled when it is up again", async () => {
  await using redis = await startRedis({ aof: "always" });
  await using bench = await Bench.open(redis.url);
  const server = await bench.server(["-c", "3"], PATIENT);
  await using _server = server;
  const jids = [];
  for (let i = 0; i < 3; i++) jids.push(await bench.push("Sleep", [bench.notes, 300]));
  const later = await bench.push("Note", [bench.notes]);
  for (const jid of jids) await bench.noted(`start ${jid}`);
  await redis.kill();
  for (const jid of jids) await bench.noted(`end ${jid}`);
  await bench.until(() => server.lines.some((line) => line.msg.includes("lost, reconnecting")), "it is said");
  await redis.start();
  await bench.noted(later);
  await bench.until(async () => (await bench.store.admin.stats()).processed === 4, "all are settled");
  const notes = await bench.readNotes();
  assertEquals(notes.length, 7, "each ran once");
  const { running, retry, dead } = await bench.store.admin.stats();
  assertEquals([running, retry, dead], [0, 0, 0]);
  const said = server.lines.map((line) => line.msg).filter((msg) => msg.includes("Connection to Redis"));
  assertEquals(said.length, 2, said.join("\n"));
  assertMatch(said[0]!, /lost, reconnecting: /);
  assertMatch(said[1]!, /is back after \d+\.\d s/);
});

Deno.test("a long outage of Redis causes one warning and one line about the recovery", async () => {
  await using redis = await startRedis({ aof: "always" });
  await using bench = await Bench.open(redis.url);
  await using server = await bench.server(["-c", "2"], { ...PATIENT, JOBS_LOG_LEVEL: "debug" });
  const running = await bench.push("Sleep", [bench.notes, 500]);
  await bench.noted(`start ${running}`);
  await redis.kill();
  await server.logged("Outcomes not stored, retrying", { level: "debug" });
  await server.logged("Store failed, retrying", { name: "fetcher", level: "debug" });
  await redis.start();
  await server.logged("Outcomes are stored again", { level: "debug" });
  await server.logged("Working again", { name: "fetcher", level: "debug" });
  assertEquals(server.complaints.map(({ name }) => name), ["store"], JSON.stringify(server.complaints));
});

Deno.test("a worker stops while Redis is down, and its jobs are in Redis afterwards", async () => {
  await using redis = await startRedis({ aof: "always" });
  await using bench = await Bench.open(redis.url);
  const server = await bench.server(["-c", "1", "-t", "2"], PATIENT);
  await using _server = server;
  const running = await bench.push("Hang", [bench.notes]);
  const waiting = await bench.push("Note", [bench.notes]);
  await bench.noted(`start ${running}`);
  await redis.kill();
  server.kill("SIGTERM");
  assertEquals((await server.status()).code, 1);
  await server.logged("Store not reachable at shutdown: jobs of this worker run again when its heartbeat has expired");
  await redis.start();
  // Its registration expires with its heartbeat, and its jobs run again.
  const placeOf = async (jid: string) => (await bench.store.jobs.find([jid])).map(({ place }) => place.in);
  assertEquals([await placeOf(running), await placeOf(waiting)], [["running"], ["queue"]]);
});
