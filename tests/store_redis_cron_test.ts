/** Cron entries on a Redis whose replies are lost. */
import { assertEquals } from "@std/assert";
import { Client } from "../src/client/client.ts";
import { Crontab } from "../src/client/crontab.ts";
import { openStore } from "../src/store/open.ts";
import { job, logTexts, numbersIn } from "./store_contract/jobs.ts";
import { startRedis } from "./support/redis.ts";
import { TcpProxy } from "./support/tcp_proxy.ts";
import { interceptStore } from "./support/intercept.ts";

Deno.test("redis: an occurrence whose reply was lost is stored once, and the repeated write returns the same", async () => {
  await using redis = await startRedis();
  await using proxy = await TcpProxy.start(redis.port);
  await using store = await openStore(`redis://127.0.0.1:${proxy.port}/0`);
  const write = { name: "a", definition: "d", awaited: false, records: ["{}"] };
  const [version] = await store.cron.write([{ ...write, version: 0, state: "s0", jobs: [] }]);
  proxy.cutNextAnswer();
  const again = await store.cron.write([{ ...write, version: version!, state: "s1", jobs: [job(1)] }]);
  const entries = (await store.cron.page()).entries;
  assertEquals(again, [entries[0]!.version]);
  assertEquals(entries.map(({ state, live }) => [state, live]), [["s1", job(1).jid]]);
  assertEquals(await numbersIn(store, { in: "queue", queue: "default" }), [1]);
  assertEquals(await logTexts(store, "cron:a", 10), ["{}", "{}"]);
});

Deno.test("redis: running a cron entry by hand enqueues one job if the reply is lost", async () => {
  await using redis = await startRedis();
  await using proxy = await TcpProxy.start(redis.port);
  await using store = await openStore(`redis://127.0.0.1:${proxy.port}/0`);
  const crontab = new Crontab({ store, client: new Client({ store }) });
  await crontab.add({ name: "a", rule: "0 0 1 1 *", class: "HardJob" });
  let writes = 0;
  const lossy = interceptStore(store, ({ verb, pass }) => {
    // The read before it must get its reply.
    if (verb === "cron.write" && ++writes === 1) proxy.cutNextAnswer();
    return pass();
  });
  const jid = await new Crontab({ store: lossy, client: new Client({ store }) }).run("a");
  assertEquals(proxy.accepted, 2);
  const { entries } = await store.admin.page({ in: "queue", queue: "default" });
  assertEquals(entries.map(({ payload }) => JSON.parse(payload).jid), [jid]);
  assertEquals(writes, 1);
});

Deno.test("redis: a cron entry is removed if the reply is lost", async () => {
  await using redis = await startRedis();
  await using proxy = await TcpProxy.start(redis.port);
  await using store = await openStore(`redis://127.0.0.1:${proxy.port}/0`);
  const write = { name: "a", definition: "d", awaited: false, records: [], state: "s", jobs: [] };
  const [version] = await store.cron.write([{ ...write, version: 0 }]);
  // Loads the script into Redis.
  assertEquals(await store.cron.write([{ name: "a", version: version! + 1, remove: true }]), [undefined]);
  proxy.cutNextAnswer();
  assertEquals(await store.cron.write([{ name: "a", version: version!, remove: true }]), [version]);
  assertEquals((await store.cron.page()).entries, []);
});
