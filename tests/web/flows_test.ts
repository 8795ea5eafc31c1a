/** Batches and flows: their pages, their API, and an operator's actions. */
import { readEvents } from "../../src/store/admin/audit.ts";
import { until } from "../support/eventually.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Client } from "../../src/client/client.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { systemClock } from "../../src/clock.ts";
import { WAIT_MS } from "../../src/web/operations.ts";
import { onBothStores } from "./site.ts";

/** Pushes a flow of three nodes; the first one is dead. */
async function stuckFlow(store: Store): Promise<string> {
  const client = new Client({ store, onUnregistered: () => {} });
  const { id } = await client.flow("nightly <b>", {
    extract: { job: ["Extract", []] },
    load: { job: ["Load", []], after: "extract" },
    report: { job: ["Report", []], after: "load" },
  }, { success: { class: "Notify", args: [] } });
  const { entries } = await store.admin.page({ in: "queue", queue: "default" }, { limit: 10 });
  await store.jobs.edit(entries.map(({ ref }) => ref), "kill");
  return id;
}

onBothStores("A flow's page draws its graph with states, and lists nodes and callbacks", async ({ store, visitor }) => {
  const id = await stuckFlow(store);
  const list = await visitor().visit("/flows");
  assertStringIncludes(list.text, "nightly &lt;b&gt;");
  assertStringIncludes(list.text, "stuck");
  const { text } = await visitor().visit(`/flows/${id}`);
  for (const name of ["extract", "load", "report"]) assertStringIncludes(text, `>${name}</text>`);
  assertEquals([...text.matchAll(/class="edge"/g)].length, 2);
  assertMatch(text, /<rect class="node dead"/);
  assertStringIncludes(text, "the node before it");
  assertStringIncludes(text, `${id}-success`);
  const job = await visitor().visit(`/jobs/${id}-1`);
  assertStringIncludes(job.text, `/flows/${id}"`);
});

onBothStores("Buttons of a flow's page retry its dead nodes, and cancel it", async ({ store, visitor }) => {
  const id = await stuckFlow(store);
  const someone = visitor();
  await someone.visit(`/flows/${id}`);
  await someone.submit(`/flows/${id}/retry`, { confirmed: "yes" }, `/flows/${id}`);
  assertEquals((await store.batches.read({ ids: [id] })).batches[0]?.state, "running");
  const notice = async () => {
    const { text } = await someone.submit(`/flows/${id}/cancel`, { confirmed: "yes" }, `/flows/${id}`);
    return /(Already c|C)ancelled[.;][^<]*/.exec(text)?.[0];
  };
  assertEquals(await notice(), "Cancelled; 3 nodes waited, or were queued or running.");
  const { state, cancelled } = (await store.batches.read({ ids: [id] })).batches[0]!;
  assertEquals([state, cancelled], ["cancelled", 3]);
  assertEquals(await notice(), "Already cancelled.");
});

onBothStores("A batch's page shows its members by state and its callbacks", async ({ store, visitor }) => {
  const client = new Client({ store, onUnregistered: () => {} });
  const batch = await client.batch({ name: "import 42", success: { class: "Notify", args: [] } }, async (add) => {
    for (const row of [1, 2]) await add("ImportRow", [row]);
  });
  assertStringIncludes((await visitor().visit("/batches")).text, "import 42");
  // The API finds them as the page does.
  await client.batch({ name: "tagged", tags: ["eu"], success: { class: "Notify", args: [] } }, (add) => add("A", []));
  const someone = visitor();
  await someone.visit("/");
  const named = async (query: string) => {
    const { text } = await someone.visit(`/api/v1/batches?${query}`);
    return JSON.parse(text).batches.map(({ name }: { name: string }) => name);
  };
  assertEquals([await named("tag=eu"), await named("tag=e"), await named("q=import")], [["tagged"], [], ["import 42"]]);
  const { text } = await visitor().visit(`/batches/${batch.id}`);
  for (const shown of ["0 of 2", "Notify", "not yet", `${batch.id}-success`]) assertStringIncludes(text, shown);
  assert(!(await visitor().visit("/flows")).text.includes("import 42"));
  // The tiles and the button link to the lists of the members.
  const pending = /<a href="(\/search\?q=[^"]+)">Pending</.exec(text)![1]!;
  const found = (await visitor().visit(pending)).text;
  assertEquals([...found.matchAll(/class="class"[^>]*>ImportRow</g)].length, 2);
  const { entries } = await store.admin.page({ in: "queue", queue: "default" }, { limit: 10 });
  await store.jobs.edit(entries.map(({ ref }) => ref), "kill");
  const stuck = (await visitor().visit(`/batches/${batch.id}`)).text;
  const dead = /<a href="(\/dead\?q=[^"]+)">Dead</.exec(stuck)![1]!;
  assertEquals([...(await visitor().visit(dead)).text.matchAll(/class="class"[^>]*>ImportRow</g)].length, 2);
});

onBothStores("The API pushes, lists, shows, retries and cancels flows, and refuses invalid ones", async (site) => {
  const someone = site.visitor();
  await someone.visit("/");
  const api = (method: "GET" | "POST", path: string, body?: unknown) => someone.api(method, path, body);
  const nodes = { a: { class: "A" }, b: { class: "B", args: [], after: ["a"] } };
  const invalid = await api("POST", "/flows", { name: "x", nodes: { a: { class: "A", args: [], after: ["b"] } } });
  assertEquals(invalid.status, 422);
  assertStringIncludes(JSON.stringify(invalid.value), "nodes.a.after");
  const noArray = await api("POST", "/flows", { name: "x", nodes: { a: { class: "A", args: null } } });
  assertEquals([noArray.status, noArray.value["error"]["field"]], [422, "nodes.a.args"]);
  const twice = await someone.send("/api/v1/flows", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: `{"name": "x", "nodes": {"a": {"class": "A", "args": []}, "a": {"class": "B", "args": []}}}`,
  });
  assertEquals([twice.status, JSON.parse(twice.text).error.field], [422, "nodes.a"]);
  const pushed = await api("POST", "/flows", { name: "x", nodes });
  assertEquals(pushed.status, 201);
  const id = String(pushed.value["id"]);
  assertEquals(((await api("GET", "/flows")).value["flows"] as { id: string }[]).map((flow) => flow.id), [id]);
  const shown = (await api("GET", `/flows/${id}/nodes`)).value["nodes"] as { name: string; state: string }[];
  assertEquals(shown.map(({ name, state }) => [name, state]), [["a", "queued"], ["b", "waiting"]]);
  assertEquals((await api("GET", `/batches/${id}`)).status, 404);
  assertEquals((await api("POST", `/flows/${id}/retry`, {})).value, { changed: 0 });
  assertEquals((await api("POST", `/flows/${id}/cancel`, {})).value, { changed: 2 });
  assertEquals((await api("GET", `/flows/${id}`)).value["state"], "cancelled");
  const again = await api("POST", `/flows/${id}/cancel`, {});
  assertEquals(again, { status: 200, value: { changed: 0, alreadyCancelled: true } });
});

onBothStores("The API opens a batch, adds to it and closes it, and refuses what is invalid", async (site) => {
  const someone = site.visitor();
  await someone.visit("/");
  const api = (path: string, body?: unknown) => someone.api("POST", path, body);
  const text = await api("/batches", { success: "Notify" });
  assertEquals([text.status, text.value["error"]["field"]], [422, "success"]);
  const invalid = await api("/batches", { sucess: {} });
  assertEquals([invalid.status, (invalid.value["error"] as { field: string }).field], [422, "sucess"]);
  assertEquals((await api("/batches", { parent: "x" })).status, 409);
  const noArray = await api("/batches", { success: { class: "Notify", args: "x" } });
  assertEquals([noArray.status, noArray.value["error"]["field"]], [422, "success.args"]);
  const opened = await api("/batches", { name: "import", success: { class: "Notify" } });
  assertEquals(opened.status, 201);
  const id = String(opened.value["id"]);
  assertEquals((await api("/jobs", { class: "ImportRow", args: [7], batch: id })).status, 201);
  assertEquals((await api(`/batches/${id}/close`)).value, { closed: true });
  assertEquals((await api(`/batches/${id}/close`)).value, { closed: true, alreadyClosed: true });
  assertEquals((await api("/jobs", { class: "ImportRow", args: [8], batch: id })).status, 409);
  const { state, total } = (await site.store.batches.read({ ids: [id] })).batches[0]!;
  assertEquals([state, total], ["running", 1]);
  assertEquals((await api("/batches/x/close")).status, 404);
});

onBothStores("The page, the API and the search find a node that waits", async ({ store, visitor }) => {
  const id = await stuckFlow(store);
  const waiting = (await store.flows.nodes(id)).nodes.find(({ state }) => state === "waiting")!;
  const someone = visitor();
  const { status, headers } = await someone.visit(`/jobs/${waiting.jid}`);
  assertEquals([status, headers.get("location")], [302, `/flows/${id}`]);
  const { value } = await someone.api("GET", `/jobs/${waiting.jid}`);
  const { flow, name, state } = value["waiting"] as Record<string, unknown>;
  assertEquals([flow, name, state], [id, waiting.name, "waiting"]);
  const { text } = await someone.visit(`/search?q=${waiting.jid}`);
  for (const shown of ["Waiting in flows", waiting.jid, `/flows/${id}"`]) assertStringIncludes(text, shown);
});

onBothStores(
  "A retry and a cancel of a batch take its jobs in steps, and the audit log has their number",
  async (site) => {
    const { store } = site;
    const client = new Client({ store, onUnregistered: () => {} });
    const others = Array.from({ length: 700 }, (_, i) => [i]);
    await client.pushBulk({ class: "Other", args: others, in: "1h" });
    const batch = await client.batch({}, async (add) => {
      for (let i = 0; i < 600; i++) await add("ImportRow", [i], { in: "1h" });
    });
    const { entries } = await store.admin.page({ in: "scheduled" }, { limit: 2_000 });
    const refs = entries.filter(({ payload }) => payload.includes(batch.id)).map(({ ref }) => ref);
    await store.jobs.edit(refs, "kill");
    const someone = site.visitor();
    await someone.visit("/");
    await someone.api("POST", `/batches/${batch.id}/retry`, {});
    await until(
      async () => (await store.batches.read({ ids: [batch.id] })).batches[0]!.pending === 600,
      "the dead are retried",
    );
    await someone.api("POST", `/batches/${batch.id}/cancel`, {});
    await until(
      async () => (await store.batches.read({ ids: [batch.id] })).batches[0]!.cancelled === 600,
      "the jobs are cancelled",
    );
    const audited = async () =>
      (await readEvents(store)).events.filter(({ target }) => target === `batch:${batch.id}`)
        .map(({ action, count, outcome }) => [action, count, outcome]);
    await until(async () => (await audited()).length === 4, "both are in the audit log");
    assertEquals(await audited(), [
      ["batch cancel", 600, undefined],
      ["batch cancel", 600, "begun"],
      ["batch retry", 600, undefined],
      ["batch retry", 600, "begun"],
    ]);
    assertEquals((await store.admin.stats()).scheduled, 700);
  },
);

/** The system's clock, except that an action is not awaited at all. */
const IMPATIENT = {
  ...systemClock,
  sleep: (ms: number, signal?: AbortSignal) => ms === WAIT_MS ? Promise.resolve() : systemClock.sleep(ms, signal),
};

onBothStores(
  "A retry and a cancel that take longer than a visitor waits answer 202, and continue in the background",
  async (site) => {
    const { store } = site;
    const client = new Client({ store, onUnregistered: () => {} });
    const batch = await client.batch({}, async (add) => {
      for (let i = 0; i < 3; i++) await add("ImportRow", [i], { in: "1h" });
    });
    const { entries } = await store.admin.page({ in: "scheduled" });
    await store.jobs.edit(entries.map(({ ref }) => ref), "kill");
    const someone = site.visitor();
    await someone.visit("/");
    const operations = async () => (await someone.api("GET", "/operations")).value["operations"];
    assertEquals(await someone.api("POST", `/batches/${batch.id}/retry`, {}), { status: 202, value: {} });
    await until(
      async () => (await store.batches.read({ ids: [batch.id] })).batches[0]!.pending === 3,
      "the dead are retried",
    );
    assertEquals(await someone.api("POST", `/batches/${batch.id}/cancel`, {}), { status: 202, value: {} });
    await until(
      async () => (await store.batches.read({ ids: [batch.id] })).batches[0]!.cancelled === 3,
      "the jobs are cancelled",
    );
    await until(
      async () => (await operations()).every(({ state }: Record<string, unknown>) => state === "succeeded"),
      "both operations have ended",
    );
    assertEquals(
      (await operations()).map(({ label, changed, total }: Record<string, unknown>) => [label, changed, total]),
      [[`batch retry ${batch.id}`, 3, 3], [`batch cancel ${batch.id}`, 3, 3]],
    );
  },
  { clock: IMPATIENT },
);
