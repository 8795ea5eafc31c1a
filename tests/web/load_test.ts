/** The dashboard under more requests than it handles at a time. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { serve } from "../../src/web/http/serve.ts";
import { createWeb, type Web } from "../../src/web/web.ts";
import { until } from "../support/eventually.ts";
import { onBothStores, openSite, push, pushAll } from "./site.ts";
import { Wire } from "./wire.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { interceptStore } from "../support/intercept.ts";

/** The limits of the limiter for one address: requests handled at once, and waiting. */
const AT_ONCE = 4;
const WAITING = 50;

/** A store that holds back its pages until they are released, and counts them. */
function holding(store: Store) {
  const opened = Promise.withResolvers<void>();
  const held = { pages: 0, letGo: () => opened.resolve() };
  const slow = interceptStore(store, async ({ verb, pass }) => {
    if (verb === "admin.page") {
      held.pages++;
      await opened.promise;
    }
    return await pass();
  });
  return { held, store: slow };
}

Deno.test("one busy address doesn't delay probes, metrics, assets, actions and other visitors", async () => {
  await using site = await openSite("sqlite");
  const { held, store } = holding(site.store);
  await using server = await serve(createWeb({ store, proxies: ["127.0.0.1"] }), {
    host: "127.0.0.1",
    port: 0,
  });
  const { port } = server.address;
  const base = `http://127.0.0.1:${port}`;
  await using stack = new AsyncDisposableStack();
  const paths = ["/dead", "/retrying", "/search?q=a", "/api/v1/jobs?in=dead"];
  const visitors: Wire[] = [];
  for (let i = 0; i < AT_ONCE + WAITING + 1; i++) {
    visitors.push(stack.use(await Wire.get(port, paths[i % paths.length]!)));
  }
  const refused = () => visitors.filter((visitor) => visitor.status === 503);
  await until(() => held.pages === AT_ONCE && refused().length === 1, "all pages are in progress and one is refused");
  await until(() => refused()[0]!.text.includes("Too many requests from your address"), "the reason");
  assertMatch(refused()[0]!.text, /^retry-after: 1\r$/im);

  for (const path of ["/healthz", "/readyz", "/metrics", "/assets/live.js"]) {
    const answer = await fetch(base + path);
    assertEquals([path, answer.status], [path, 200]);
    await answer.body!.cancel();
  }
  const watching = await fetch(`${base}/events`);
  assertEquals(watching.status, 200);
  await watching.body!.cancel();
  const pause = await fetch(`${base}/api/v1/queues/default/pause`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  });
  assertEquals([pause.status, (await pause.text()).length > 0], [200, true]);
  const other = await fetch(`${base}/queues`, { headers: { "x-forwarded-for": "10.0.0.9" } });
  assertEquals(other.status, 200);
  await other.text();
  assertEquals(held.pages, AT_ONCE);

  held.letGo();
  await until(() => visitors.every(({ status }) => status !== undefined), "all responses");
  assertEquals(visitors.filter(({ status }) => status === 200).length, AT_ONCE + WAITING);
});

Deno.test("renders nothing for clients that disconnected while they waited", async () => {
  await using site = await openSite("sqlite");
  const { held, store } = holding(site.store);
  const web = createWeb({ store });
  let asked = 0;
  let gone = 0;
  const handle: Web["handle"] = (request, peer) => {
    asked++;
    request.signal.addEventListener("abort", () => gone++);
    return web.handle(request, peer);
  };
  const dispose = () => web[Symbol.asyncDispose]();
  const watched: Web = { ...web, handle, [Symbol.asyncDispose]: dispose };
  await using server = await serve(watched, { host: "127.0.0.1", port: 0 });
  const { port } = server.address;
  await using stack = new AsyncDisposableStack();
  const first: Wire[] = [];
  for (let i = 0; i < AT_ONCE; i++) first.push(stack.use(await Wire.get(port, "/dead")));
  await until(() => held.pages === AT_ONCE, "all pages are in progress");
  const others: Wire[] = [];
  for (let i = 0; i < WAITING; i++) others.push(await Wire.get(port, "/dead"));
  await until(() => asked === AT_ONCE + WAITING, "all requests");
  for (const visitor of others) await visitor[Symbol.asyncDispose]();
  await until(() => gone === WAITING, "the waiting clients disconnected");
  held.letGo();
  await until(() => first.every(({ status }) => status === 200), "the first responses");
  await using last = await Wire.get(port, "/dead");
  await until(() => last.status === 200, "the last response");
  assertEquals(held.pages, AT_ONCE + 1);
});

onBothStores(
  "ends a page of very large jobs at 8 MiB and one read of the store, and the next page continues",
  async (site) => {
    for (let i = 0; i < 24; i++) await push(site.store, `j${i}`, { args: ["x".repeat(900_000)] });
    const someone = site.visitor();
    const jids: string[] = [];
    const sizes: number[] = [];
    for (let cursor = ""; sizes.length === 0 || cursor !== "";) {
      const query = `in=queue:default&limit=1000&cursor=${encodeURIComponent(cursor)}`;
      const { value } = await someone.api("GET", `/jobs?${query}`);
      sizes.push(value.jobs.length);
      jids.push(...value.jobs.map(({ jid }: { jid: string }) => jid));
      cursor = value.next ?? "";
    }
    assert(sizes.every((size) => size <= 13), `jobs on each page: ${sizes}`);
    assertEquals(jids, Array.from({ length: 24 }, (_, i) => `j${i}`));
  },
);

onBothStores("A page of many small jobs is as long as was asked for", async (site) => {
  await pushAll(site.store, Array.from({ length: 120 }, (_, i) => ({ jid: `j${i}` })));
  const { value } = await site.visitor().api("GET", "/jobs?in=queue:default&limit=100");
  assertEquals(value.jobs.map(({ jid }: { jid: string }) => jid), Array.from({ length: 100 }, (_, i) => `j${i}`));
  const { value: rest } = await site.visitor().api(
    "GET",
    `/jobs?in=queue:default&cursor=${encodeURIComponent(value.next)}`,
  );
  assertEquals([rest.jobs.length, rest.jobs[0].jid, rest.next], [20, "j100", undefined]);
});
