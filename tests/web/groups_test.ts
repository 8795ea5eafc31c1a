/** Groups of a queue: pages and API. */
import { readEvents } from "../../src/store/admin/audit.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Client } from "../../src/client/client.ts";
import type { GroupPage } from "../../src/store/port/groups.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { onBothStores } from "./site.ts";

/** Pushes five jobs of the group `a/b`, one of `other` and one without a group. */
async function fill(store: Store): Promise<void> {
  const client = new Client({ store, onUnregistered: () => {} });
  for (let n = 0; n < 5; n++) await client.push("Export", [n], { group: "a/b" });
  await client.push("Export", [5], { group: "other" });
  await client.push("Export", [6]);
}

onBothStores("a queue's page lists its groups, and a group's page its jobs", async ({ store, visitor }) => {
  await fill(store);
  await store.admin.configure("default", { eachGroup: true, limit: { running: 2 } });
  const someone = visitor();
  const page = (await someone.visit("/queues/default")).text;
  assertStringIncludes(page, "Limit of each group: 2 at once<");
  assertMatch(page, /href="\/queues\/default\/groups\/a%2Fb[^"]*">a\/b</);
  const group = (await someone.visit("/queues/default/groups/a%2Fb")).text;
  assertStringIncludes(group, "5 jobs, 0 running");
  assertStringIncludes(group, "Limit: 2 at once, as of each group");
  assertEquals((await someone.visit(`/queues/default/groups/${"x".repeat(300)}`)).status, 400);
});

onBothStores(
  "the fair shares of groups, and the slowest one, are on the queue's page, on a group's, and in the API",
  async ({ store, visitor }) => {
    await fill(store);
    await store.admin.configure("default", { group: "a/b", limit: { weight: 2 } });
    await store.admin.configure("default", { group: "other", pause: true });
    const someone = visitor();
    const page = (await someone.visit("/queues/default")).text;
    const shares = [...page.matchAll(/data-label="Fair share">([^<]*)</g)].map(([, text]) => text);
    assertEquals(shares, ["67 %", ""]);
    assertStringIncludes(page, "Fair share: 33 %.");
    assertMatch(
      page,
      /Slowest: <a href="\/queues\/default\/groups\/a%2Fb">a\/b<\/a>, whose oldest job has been queued for /,
    );
    assertStringIncludes((await someone.visit("/queues/default/groups/a%2Fb")).text, ", fair share 67 %");
    const { value } = await someone.api("GET", "/queues/default/groups");
    const { groups, ungroupedFairShare, slowest } = value as Required<GroupPage>;
    assertEquals(slowest.name, "a/b");
    assertEquals(groups.map(({ fairShare }) => fairShare), [0.666667, undefined]);
    assertEquals(ungroupedFairShare, 0.333333);
    const { value: openApi } = await someone.api("GET", "/openapi.json");
    const described = JSON.stringify(openApi);
    for (const field of new Set(groups.flatMap(Object.keys))) assertStringIncludes(described, `"${field}":{"type"`);
  },
);

onBothStores("a group is limited by its page's form and over the API", async ({ store, visitor }) => {
  await fill(store);
  const someone = visitor();
  const path = "/queues/default/groups/a%2Fb";
  const empty = { running: "", starts: "", weight: "", for: "" };
  const set = await someone.submit(`${path}/limit`, { ...empty, running: "3", weight: "2", for: "2h" }, path);
  assertStringIncludes(set.text, "Group a/b is limited: 3 at once, weight 2, for 2h.");
  assertEquals((await someone.submit(`${path}/limit`, { ...empty, weight: "0" }, path)).status, 422);
  const { groups: [group] } = await store.admin.groups("default", { group: "a/b" });
  assertEquals([group!.isOwn, group!.weight, group!.limit?.running], [true, 2, 3]);
  assertStringIncludes((await someone.submit(`${path}/limit`, empty, path)).text, "has no separate limit");

  const limit = "/queues/default/groups/limit";
  const answer = await someone.api("POST", limit, { running: 2, starts: "10/1m" });
  assertEquals(answer.value, { queue: "default", running: 2, starts: { count: 10, perMs: 60_000 } });
  for (
    const wrong of [{ weight: 2 }, { group: "args[0]", running: 1 }, { group: "" }, { group: "a", weight: 0 }, {
      group: "a",
      for: "soon",
    }, {
      group: "a",
      for: "2h",
    }, {
      group: "a",
      running: 2,
      for: "0s",
    }, { x: 1 }]
  ) {
    const { status } = await someone.api("POST", limit, wrong);
    assertEquals(status >= 400 && status < 500, true, JSON.stringify(wrong));
  }
  const { value } = await someone.api("GET", "/queues/default/groups");
  const { groups, ungrouped, each } = value as {
    groups: { name: string; size: number }[];
    ungrouped: number;
    each: unknown;
  };
  assertEquals(groups.map(({ name, size }) => [name, size]), [["a/b", 5], ["other", 1]]);
  assertEquals([ungrouped, each], [1, { running: 2, starts: { count: 10, perMs: 60_000 } }]);
});

onBothStores("a group is paused and resumed on its page and over the API", async ({ store, visitor }) => {
  await fill(store);
  const someone = visitor();
  const path = "/queues/default/groups/a%2Fb";
  const paused = async () => {
    const [group] = (await store.admin.groups("default", { group: "a/b" })).groups;
    return [group!.paused, group!.pausedForMs !== undefined];
  };
  assertStringIncludes((await someone.submit(`${path}/pause`, {}, path)).text, "Group a/b paused.");
  assertMatch((await someone.visit(path)).text, /<span class="badge warn">paused<\/span>/);
  assertEquals(await paused(), [true, false]);
  assertStringIncludes((await someone.submit(`${path}/resume`, {}, path)).text, "Group a/b resumed.");
  assertEquals(await paused(), [false, false]);

  const api = "/queues/default/groups";
  const answer = await someone.api("POST", `${api}/pause`, { group: "a/b", for: "10m" });
  assertEquals(answer.value, { queue: "default", group: "a/b", paused: true });
  assertEquals(await paused(), [true, true]);
  await someone.api("POST", `${api}/resume`, { group: "a/b" });
  assertEquals(await paused(), [false, false]);
  for (const wrong of [{}, { group: "" }, { group: "a", for: "soon" }, { group: "a", x: 1 }]) {
    const { status } = await someone.api("POST", `${api}/pause`, wrong);
    assertEquals(status >= 400 && status < 500, true, JSON.stringify(wrong));
  }
  const targets = (await readEvents(store)).events.map(({ action, target, details }) => [action, target, details]);
  assertEquals(targets[1], ["pause", "queue:default group a/b", "for 10m"]);
});

onBothStores("a group is cleared without the others, and a queue with its groups", async ({ store, visitor }) => {
  await fill(store);
  const someone = visitor();
  const act = { in: "queue:default|a/b", do: "delete", scope: "all" };
  const asked = await someone.submit("/jobs/act", act, "/queues/default/groups/a%2Fb");
  assertStringIncludes(asked.text, "Delete 5 jobs in group a/b of queue default?");
  await someone.submit("/jobs/act", { ...act, confirmed: "yes" }, "/queues/default/groups/a%2Fb");
  assertEquals((await store.admin.stats()).enqueued, 2);
  await someone.submit("/jobs/act", { ...act, in: "queue:default", confirmed: "yes" }, "/queues");
  assertEquals((await store.admin.stats()).enqueued, 0);
});

onBothStores(
  "a queue's page limits each group, pauses for a time, and forgets an empty queue",
  async ({ store, visitor }) => {
    await fill(store);
    let page = await visitor().open("/queues/default");
    page = await page.press("Save limit of each group", { fill: { "Max concurrent": "3" } });
    assertEquals(page.message, "Each group of queue default is limited to 3 at once.");
    assertEquals((await store.admin.groups("default")).each, { running: 3 });
    assertStringIncludes((await visitor().visit("/queues")).text, "each group: 3 at once");
    page = await page.press("Pause for 10 minutes");
    assertEquals(page.message, "Queue default paused for 10m.");
    const [paused] = (await store.admin.stats()).queues;
    assert(paused!.pausedForMs! > 590_000 && paused!.pausedForMs! <= 600_000);
    await store.jobs.enqueue([
      { jid: "e1", queue: "emptied", payload: '{"jid":"e1","class":"A","args":[],"queue":"emptied"}' } as never,
    ]);
    const full = await visitor().open("/queues/emptied");
    assertEquals(full.acts.includes("Forget queue emptied"), false);
    await store.jobs.edit({ in: { in: "queue", queue: "emptied" }, limit: 9 }, "delete");
    page = await (await visitor().open("/queues")).press("Forget queue emptied");
    assertEquals(page.message, "Queue emptied removed from the list.");
    assertEquals((await store.admin.stats()).queues.map(({ name }) => name), ["default"]);
  },
);

onBothStores(
  "groups are found by name among many, and few are in order of their latency",
  async ({ store, visitor }) => {
    const job = (jid: string, group: string, agoMs: number) => ({
      jid,
      queue: "default",
      group,
      payload: JSON.stringify({ jid, class: "A", args: [], queue: "default", group, enqueued_at: Date.now() - agoMs }),
    });
    const shown = async (query = "") =>
      [...(await visitor().visit(`/queues/default${query}`)).text.matchAll(
        /\/queues\/default\/groups\/([^"]+)">\1<\/a><\/td>/g,
      )]
        .map(([, name]) => name);
    await store.jobs.enqueue([job("a", "tenant-a", 0), job("b", "tenant-b", 60_000), job("c", "tenant-c", 5_000)]);
    const few = await shown();
    assertEquals(few.length, 3);
    const many = Array.from({ length: 700 }, (_, i) => job(`m${i}`, `shop-${String(i).padStart(3, "0")}`, 0));
    await store.jobs.enqueue(many);
    assertEquals((await shown()).length, 100);
    assertEquals(await shown("?find=SHOP-69"), Array.from({ length: 10 }, (_, i) => `shop-69${i}`));
    assertEquals(await shown("?find=nt-b"), ["tenant-b"]);
    assertStringIncludes((await visitor().visit("/queues/default?find=none")).text, "No matching groups.");
  },
);
