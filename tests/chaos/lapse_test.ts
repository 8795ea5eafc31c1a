/**
 * Redis, or everybody, is away for longer than a heartbeat counts: nobody takes anybody for dead for it, nor itself.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { openStore } from "../../src/store/open.ts";
import { jobs, processRecord, takeUpTo } from "../store_contract/jobs.ts";
import { Bench } from "../support/bench.ts";
import { until } from "../support/eventually.ts";
import type { JobsProcess } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";

/** A heartbeat counts for long enough that a busy machine is no death, and for no longer. */
const BRIEF = { JOBS_DEAD_AFTER: "4s", JOBS_HEARTBEAT: "250ms" };

const WAIT = "Rescues wait: nobody could say that he lives, until all have had the time to";
const GO_ON = "Rescues go on";

/** Two jobs run on two servers; then something happens to all; then each job has run once. */
async function survive(bench: Bench, happens: (servers: readonly JobsProcess[]) => Promise<void>): Promise<void> {
  const servers = [await bench.server(["-c", "1"], BRIEF), await bench.server(["-c", "1"], BRIEF)];
  try {
    const jids = [await bench.push("Listen", [bench.notes]), await bench.push("Listen", [bench.notes])];
    for (const jid of jids) await bench.noted(`start ${jid}`);
    await happens(servers);
    await Deno.writeTextFile(`${bench.notes}.go`, "");
    for (const jid of jids) await bench.noted(`end ${jid}`);
    await bench.until(async () => (await bench.store.stats()).processed === 2);
    assertEquals((await bench.readNotes()).sort(), jids.flatMap((jid) => [`end ${jid}`, `start ${jid}`]).sort());
    const said = servers.flatMap(({ lines }) => lines).filter(({ msg }) => /Rescued|Leases lost/.test(msg));
    assertEquals(said, []);
  } finally {
    for (const server of servers) await server[Symbol.asyncDispose]();
  }
}

Deno.test("Redis away for longer than a heartbeat counts, three times: every job runs once", async () => {
  await using redis = await startRedis({ aof: "always" });
  await using bench = await Bench.open(redis.url);
  await survive(bench, async (servers) => {
    for (let outage = 1; outage <= 3; outage++) {
      await redis.kill();
      await Promise.all(servers.map((server) => server.logged(WAIT, {}, outage)));
      await redis.start();
      await Promise.all(servers.map((server) => server.logged(GO_ON, {}, outage)));
    }
  });
});

for (const kind of ["SQLite", "Redis"] as const) {
  Deno.test(`a machine that stands still for longer than a heartbeat counts: every job runs once, on ${kind}`, async () => {
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    await using bench = await Bench.open(redis?.url);
    await survive(bench, async (servers) => {
      for (const server of servers) server.kill("SIGSTOP");
      await bench.until(async () => (await bench.store.processes()).every(({ alive }) => !alive));
      for (const server of servers) server.kill("SIGCONT");
      await Promise.all(servers.map((server) => server.logged(GO_ON)));
    });
  });
}

Deno.test("whoever comes first after Redis was away takes nobody for dead before all could beat", async () => {
  await using redis = await startRedis({ aof: "always" });
  const ttlMs = 6_000;
  {
    await using store = await openStore(redis.url);
    await store.beat(processRecord("host:1:aaaaaaaaaaaa"), 1);
    await store.enqueue(jobs(1, 1));
    await takeUpTo(store, "host:1:aaaaaaaaaaaa");
  }
  await redis.kill();
  await redis.start();
  await using store = await openStore(redis.url);
  await store.beat(processRecord("host:2:bbbbbbbbbbbb"), ttlMs);
  assertEquals(await store.rescue(10, 3), { rescued: 0, buried: 0, owners: [] });
  await until(async () => (await store.rescue(10, 3)).rescued === 1);
});
