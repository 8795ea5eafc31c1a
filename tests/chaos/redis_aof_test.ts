/**
 * `kill -9` of Redis while jobs are pushed and performed, and the recovery from its append-only file.
 *
 * - `appendfsync always`: no acknowledged job is ever lost, and each job runs once as long as no worker dies.
 * - `appendfsync everysec`: jobs that were acknowledged within the last two seconds may be lost, and jobs that ended within
 *   them may run again. (If only the process dies, the operating system still has the written data, and only data that
 *   waited for a slow disk is lost. If the machine dies, all of it is.)
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { Client } from "../../src/client/client.ts";
import { openStore } from "../../src/store/open.ts";
import { Bench } from "../support/bench.ts";
import { until } from "../support/eventually.ts";
import { startRedis } from "../support/redis.ts";

const KILLS = 3;
/** `everysec` may lose the last two seconds. */
const WINDOW_MS = 2_000;
/** Long enough that an outage on a busy machine doesn't make a worker offline. */
const PATIENT = { JOBS_HEARTBEAT_TIMEOUT: "30s", JOBS_HEARTBEAT: "1s", JOBS_LOG_LEVEL: "info" };

for (const aof of ["always", "everysec"] as const) {
  Deno.test(`kill -9 of Redis, appendfsync ${aof}, during pushing and performing`, async () => {
    await using redis = await startRedis({ aof });
    await using bench = await Bench.open(redis.url);
    await using _one = await bench.server(["-c", "5"], PATIENT);
    await using _two = await bench.server(["-c", "5"], PATIENT);

    const acknowledged = new Map<string, number>();
    const kills: { readonly from: number; readonly to: number }[] = [];
    let pushing = true;
    const pushers = Array.from({ length: 3 }, async () => {
      await using store = await openStore(redis.url);
      const client = new Client({ store });
      while (pushing) {
        const results = await client.pushBulk({
          class: "Note",
          args: Array.from({ length: 20 }, () => [bench.notes]),
        });
        for (const { jid } of results) acknowledged.set(jid!, performance.now());
      }
    });
    for (let i = 1; i <= KILLS; i++) {
      await until(() => acknowledged.size > i * 1_500, "Pushing on");
      const before = performance.now();
      await redis.kill();
      // Until now, acknowledgements can be read that Redis sent before it was killed.
      kills.push({ from: before - WINDOW_MS, to: performance.now() });
      await redis.start();
    }
    await until(() => acknowledged.size > (KILLS + 1) * 1_500, "Pushing on");
    pushing = false;
    await Promise.all(pushers);
    await bench.until(async () => {
      const { enqueued, running } = await bench.store.admin.stats();
      return enqueued + running === 0;
    }, "all is done");

    const runs = new Map<string, number>();
    for (const jid of await bench.readNotes()) runs.set(jid, (runs.get(jid) ?? 0) + 1);
    const lost = [...acknowledged].filter(([jid]) => !runs.has(jid));
    if (aof === "always") {
      assertEquals(lost, []);
      assertEquals([...runs].filter(([, count]) => count > 1), [], "performed twice");
    } else {
      const early = lost.filter(([, at]) => !kills.some(({ from, to }) => at > from && at <= to));
      assertEquals(early, [], "lost, and acknowledged long before");
    }
    assert(runs.size >= acknowledged.size - lost.length);
  });
}
