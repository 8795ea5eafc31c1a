/** Long lists: a page and a response of the API stay small with thousands of rows, and reach each of them. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { onBothStores, push, pushAll, workerRecord } from "./site.ts";

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

onBothStores("the steps of a job are listed page by page, those that wait first", async ({ store, visitor }) => {
  const [jid, worker] = ["a".repeat(24), "web1:7:abc"];
  await push(store, jid, { has_steps: true });
  await store.workers.heartbeat(workerRecord(worker), 60_000);
  const [lease] = await store.jobs.take({ queues: ["default"], limit: 1, worker });
  const step = { worker, token: lease!.token, jid };
  const record = (name: string, since: number) => ({
    name,
    record: `{"state":"succeeded","since":${since},"ended":${since},"kind":"step","value":"${"x".repeat(5_000)}"}`,
  });
  for (let i = 0; i < 300; i++) await store.steps.remember(step, record(`step ${i}`, i));
  await store.steps.wait(step, {
    name: "approval",
    about: `"kind":"wait","key":"order-7"`,
    forMs: 60_000,
    key: "order-7",
  });
  await store.jobs.settle(worker, [{ kind: "retry", token: lease!.token, delayMs: 60_000, payload: lease!.payload }]);
  const stepNames = ({ html }: { readonly html: string }) =>
    [...html.matchAll(/data-label="Step"[^>]*><span class="class">([^<]*)</g)].map(([, name]) => name);
  const page = await visitor().open(`/jobs/${jid}`);
  assert(page.html.length < MAX_PAGE_BYTES, `${page.html.length}`);
  assertEquals([stepNames(page).length, stepNames(page)[0]], [100, "approval"]);
  assertStringIncludes(page.html, "1 to 100 of 301");
  assertEquals(stepNames(await page.follow("Next →"))[0], "step 99");
  const found = await page.press("Find", { fill: { "Name of a step": "step 299" } });
  assertEquals(stepNames(found), ["step 299"]);
  assertStringIncludes(found.html, "Give up waiting");
});
