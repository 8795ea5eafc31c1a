/** The crontab on a Redis whose answers are lost. */
import { assertEquals } from "@std/assert";
import { openStore } from "../src/store/open.ts";
import { job, numbersIn } from "./store_contract/jobs.ts";
import { startRedis } from "./support/redis.ts";
import { TcpProxy } from "./support/tcp_proxy.ts";

Deno.test("an occurrence whose answer was lost is stored once, and found decided", async () => {
  await using redis = await startRedis();
  await using proxy = await TcpProxy.start(redis.port);
  await using store = await openStore(`redis://127.0.0.1:${proxy.port}/0`);
  const write = { name: "a", definition: "d", awaited: false, records: ["{}"] };
  const [version] = await store.cronWrite([{ ...write, version: 0, state: "s0", jobs: [] }]);
  proxy.cutNextAnswer();
  const again = await store.cronWrite([{ ...write, version: version!, state: "s1", jobs: [job(1)] }]);
  assertEquals(again, [undefined], "another was faster: we were");
  assertEquals((await store.cronRead()).entries.map(({ state, live }) => [state, live]), [["s1", job(1).jid]]);
  assertEquals(await numbersIn(store, { in: "queue", queue: "default" }), [1]);
  assertEquals(await store.cronHistory("a", 10), ["{}", "{}"]);
});
