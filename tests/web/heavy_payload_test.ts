/** Payloads that are costly to show. Any client of the store can write them. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { systemClock } from "../../src/clock.ts";
import { openSite, push, type Site } from "./site.ts";
import type { Store } from "../../src/store/admin/store.ts";

const MIB = 1024 * 1024;

/** Arguments of one mebibyte, by the reason why they are costly. */
const HEAVY: Readonly<Record<string, string>> = {
  digits: `[${"9".repeat(MIB)}]`,
  numbers: `[${"1,".repeat(MIB / 2)}12345678901234567890]`,
  arrays: `[${"[],".repeat(MIB / 3)}12345678901234567890]`,
  objects: `[${'{"a":1},'.repeat(MIB / 8)}1]`,
  texts: `[${'"a",'.repeat(MIB / 4)}1]`,
  depth: `${"[".repeat(MIB / 2)}${"]".repeat(MIB / 2)}`,
  markup: `["${"<&".repeat(MIB / 2)}"]`,
};

async function fill(store: Store): Promise<void> {
  for (const [jid, args] of Object.entries(HEAVY)) {
    const payload = `{"class":"Heavy","jid":"${jid}","queue":"default","args":${args},"password":"hunter2"}`;
    await store.jobs.enqueue([{ jid, queue: "default", payload }]);
  }
}

const LISTS = ["/queues/default", "/queues/default?q=a", "/api/v1/jobs?in=queue:default"];
const PAGES = [
  ...LISTS,
  "/search?q=a",
  ...Object.keys(HEAVY).map((jid) => `/jobs/${jid}`),
];

/** Visits a page; returns its text, and the number of turns of the event loop meanwhile. */
async function visit({ visitor }: Site, path: string): Promise<{ readonly text: string; readonly turns: number }> {
  let turns = 0;
  let isOver = false;
  const counting = (async () => {
    for (; !isOver; turns++) await systemClock.turn();
  })();
  const { status, text } = await visitor().visit(path);
  isOver = true;
  await counting;
  assertEquals([path, status], [path, 200]);
  return { text, turns };
}

Deno.test("a page of large payloads is bounded, masks secrets, and doesn't block the event loop", async () => {
  await using site = await openSite("sqlite");
  await fill(site.store);
  for (const path of PAGES) {
    const { text, turns } = await visit(site, path);
    assert(text.length < 2 * MIB, `${path}: ${text.length} characters`);
    assert(!text.includes("hunter2"), path);
    if (LISTS.includes(path)) assert(turns > Object.keys(HEAVY).length, `${path}: ${turns} turns`);
  }
});

Deno.test("shows an integer of a million digits as text; its job can be deleted", async () => {
  await using site = await openSite("sqlite");
  await fill(site.store);
  const someone = site.visitor();
  const { text } = await someone.visit("/queues/default");
  assertStringIncludes(text, "(unreadable)");
  const { value } = await someone.api("GET", "/jobs?in=queue:default");
  const unreadable = value.jobs.find(({ jid }: { jid?: string }) => jid === undefined);
  assertEquals(unreadable.payload.slice(0, 40), '{"class":"Heavy","jid":"digits","queue":');
  assertEquals((await someone.api("POST", "/actions", { action: "delete", refs: [unreadable.ref] })).value.changed, 1);
});

Deno.test("arguments too large for a form can't be edited, and are pushed again unchanged", async () => {
  await using site = await openSite("sqlite");
  const args = [Array.from({ length: 30_000 }, (_, i) => i)];
  await push(site.store, "large", { args });
  const someone = site.visitor();
  const [entry] = await site.store.jobs.find(["large"]);
  const page = await someone.visit(`/jobs/large/edit?ref=${encodeURIComponent(entry!.ref)}`);
  assertEquals(page.status, 422);
  assertStringIncludes(page.text, "too large to edit here");
  const { status, value } = await someone.api("POST", "/jobs/large/push-again", { queue: "other" });
  assertEquals(status, 201);
  const [again] = await site.store.jobs.find([value.jid]);
  assertEquals(JSON.parse(again!.payload).args, args);
});
