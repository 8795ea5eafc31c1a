/** Long lists: a page and a response of the API stay small with thousands of rows, and reach each of them. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { onBothStores, pushAll, workerRecord } from "./site.ts";

const MAX_PAGE_BYTES = 400_000;
const names = (page: { readonly html: string }, label: string) =>
  [...page.html.matchAll(
    new RegExp(`data-label="${label}">(?:<a class="class"[^>]*>|.*?<span class="class worker"[^>]*>)([^<]*)<`, "g"),
  )]
    .map(([, name]) => name);

onBothStores("a thousand queues are listed page by page, and found by name", async ({ store, visitor }) => {
  const queue = (i: number) => `q${String(i).padStart(5, "0")}`;
  await pushAll(store, Array.from({ length: 1_001 }, (_, i) => ({ jid: `j${i}`, queue: queue(i) })));
  let page = await visitor().open("/queues");
  assert(page.html.length < MAX_PAGE_BYTES, `${page.html.length}`);
  assertEquals([names(page, "Queue").length, names(page, "Queue")[0]], [100, queue(0)]);
  assertStringIncludes(page.html, "1 to 100 of 1,001");
  page = await page.follow("Next →");
  assertEquals(names(page, "Queue")[0], queue(100));
  page = await page.press("Find", { fill: { "Name of a queue": "Q0100" } });
  assertEquals(names(page, "Queue"), [queue(1_000)]);
  page = await page.press("Find", { fill: { "Name of a queue": "<none>" } });
  assertStringIncludes(page.html, "No queue with &quot;&lt;none&gt;&quot; in its name.");
  page = await visitor().open("/queues?page=99");
  assertEquals(names(page, "Queue"), [queue(1_000)]);
  const first = (await visitor().api("GET", "/queues")).value;
  assertEquals([first.queues.length, first.next], [1_000, queue(999)]);
  const rest = (await visitor().api("GET", `/queues?cursor=${first.next}`)).value;
  assertEquals([rest.queues.map(({ name }: { name: string }) => name), rest.next], [[queue(1_000)], undefined]);
  assertEquals((await visitor().api("GET", "/stats")).value.queues.length, 1_000);
});

onBothStores("hundreds of workers and running jobs are listed page by page", async ({ store, visitor }) => {
  const id = (i: number) => `web${String(i).padStart(4, "0")}:7:abc`;
  await Promise.all(Array.from({ length: 201 }, (_, i) => {
    const payload = JSON.stringify({ class: "Task", args: [], jid: `j${i}`, queue: "default" });
    const work = [1, 2, 3, 4].map((n) => ({ task: `processor ${n}`, queue: "default", payload, since: 1 }));
    return store.workers.heartbeat(workerRecord(id(i), { hostname: id(i).slice(0, 7), work, busy: 4 }), 60_000);
  }));
  for (const path of ["/workers", "/running"]) {
    const page = await visitor().open(path);
    assert(page.html.length < MAX_PAGE_BYTES, `${path}: ${page.html.length}`);
    assertStringIncludes(page.html, path === "/workers" ? "1 to 100 of 201" : "1 to 100 of 804");
    const found = await page.press("Find", {
      fill: { [path === "/workers" ? "Name of a worker" : "Worker"]: "web0200" },
    });
    assertEquals(/Next →|of 201|of 804/.test(found.html), false, path);
    assertStringIncludes(found.html, "web0200");
  }
  const { workers, next } = (await visitor().api("GET", "/workers?limit=200")).value;
  assertEquals([workers.length, next], [200, id(199)]);
});
