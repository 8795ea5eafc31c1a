/** A worker inside a program: its dashboard, its store, and invalid options. */
import { assertEquals, assertRejects } from "@std/assert";
import { ConfigError, defineJob, openStore, startServer } from "../../src/mod.ts";
import { startRedis } from "../support/redis.ts";

const Add = defineJob("Add", (_ctx, a: number, b: number) => a + b, { result_ttl: "1h" });

for (const kind of ["sqlite", "redis"] as const) {
  Deno.test(`a worker with a dashboard serves pages, the API, metrics, probes and other workers of its store, on ${kind}`, async () => {
    await using redis = kind === "redis" ? await startRedis() : undefined;
    const store = redis?.url ?? "sqlite::memory:";
    await using server = await startServer({ store, jobs: [Add], web: "127.0.0.1:0", log: false });
    const pushed = await fetch(`${server.url}api/v1/jobs`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ class: "Add", args: [1, 2] }),
    });
    const { jid } = await pushed.json();
    assertEquals((await server.client.result(jid))?.result, 3);
    for (const path of ["", "healthz", "readyz", "metrics", "api/v1/stats"]) {
      const answer = await fetch(`${server.url}${path}`);
      await answer.body?.cancel();
      assertEquals(answer.status, 200, path);
    }
    assertEquals((await server.store.admin.stats()).processed, 1);
    const registered = await fetch(`${server.url}api/v1/work/register`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        ...{ protocol: 1, runtime: "test 1", client: "test 1", hostname: "box", pid: 7, nonce: "000000000001" },
        ...{ concurrency: 1, classes: { Other: {} } },
      }),
    });
    assertEquals((await registered.json()).worker, "box:7:000000000001");
    const url = server.url!;
    await server.stop();
    await assertRejects(() => fetch(url));
  });
}

Deno.test("a worker without a dashboard has no address, and an invalid address is rejected before anything starts", async () => {
  await using server = await startServer({ store: "sqlite::memory:", jobs: [Add], log: false });
  assertEquals(server.url, undefined);
  for (const web of ["nowhere:x", "0.0.0.0:0"]) {
    await assertRejects(() => startServer({ store: "sqlite::memory:", web, log: false }), ConfigError, `"${web}"`);
  }
  await using _store = await openStore("sqlite::memory:");
});
