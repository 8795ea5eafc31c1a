import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { systemClock } from "../../src/clock.ts";
import { openStore } from "../../src/store/open.ts";
import type { Outcome } from "../../src/store/port/jobs.ts";
import { createWeb } from "../../src/web/web.ts";
import { FakeClock } from "../support/clock.ts";
import { register, takeUpTo } from "../store_contract/jobs.ts";
import { onBothStores, push, Visitor } from "./site.ts";
import type { Store } from "../../src/store/admin/store.ts";

async function finish(store: Store, ...kinds: ("ack" | "discard")[]): Promise<void> {
  const owner = await register(store);
  for (const i of kinds.keys()) await push(store, `j${i}`);
  const leases = await takeUpTo(store, owner);
  await store.jobs.settle(owner, kinds.map((kind, i): Outcome => ({ kind, token: leases[i]!.token })));
}

/** It is noon, far from another day. */
const DAY_MS = 24 * 3_600_000;
const toNoon = DAY_MS / 2 - systemClock.now() % DAY_MS;
const NOON = { ...systemClock, now: () => systemClock.now() + toNoon };

onBothStores("The overview and the API tell of each day, of a week, a month or three", async ({ store, visitor }) => {
  await finish(store, "ack", "ack", "discard");
  const someone = visitor();
  for (
    const [query, days] of [["?days=7", 7], ["?days=30", 30], ["?days=90", 90], ["", 30], ["?days=x", 30]] as const
  ) {
    const { text, status } = await someone.visit(`/${query}`);
    assertEquals(status, 200);
    assertEquals(text.match(/<title>\d{4}-\d\d-\d\d: /g)?.length, days, query);
    assertEquals(text.match(/data-label="Day"/g)?.length, days, query);
    assertMatch(text, /<title>\d{4}-\d\d-\d\d: 3 finished, 1 failed<\/title>/);
    assertMatch(text, new RegExp(`href="/\\?days=${days}" aria-current="true"`));
  }
  const { days } = (await someone.api("GET", "/history?days=2")).value;
  assertEquals(days.map(({ processed, failed }: Record<string, number>) => [processed, failed]), [[0, 0], [3, 1]]);
  assertEquals((await someone.api("GET", "/history")).value.days.length, 90);
  for (const wrong of ["0", "-1", "1.5", "1826", "x", "1e9"]) {
    assertEquals((await someone.api("GET", `/history?days=${wrong}`)).status, 422, wrong);
  }
  const document = (await someone.api("GET", "/openapi.json")).value;
  assertStringIncludes(document.paths["/history"].get.parameters[0].description, "1 to 1825");
}, { clock: NOON, storeClock: NOON });

Deno.test("The chart's last day is today, and a bar is as high as its count", async () => {
  const clock = new FakeClock(Date.UTC(2026, 1, 27, 12));
  const dir = await Deno.makeTempDir({ prefix: "jobs-web-" });
  try {
    await using store = await openStore(`sqlite:${dir}/jobs.db`, { clock });
    await using web = createWeb({ store, clock });
    await finish(store, "ack", "ack", "ack", "ack");
    clock.set(Date.UTC(2026, 2, 1, 12));
    await finish(store, "discard", "ack");
    const { text } = await new Visitor(web, "127.0.0.1").visit("/?days=7");
    const bars = [
      ...text.matchAll(/<title>([\d-]+): (\d+) finished.*?<rect class="processed"[^>]* height="([\d.]+)"/gs),
    ];
    assertEquals(bars.map(([, day, count, height]) => [day, count, height]), [
      ["2026-02-23", "0", "0.0"],
      ["2026-02-24", "0", "0.0"],
      ["2026-02-25", "0", "0.0"],
      ["2026-02-26", "0", "0.0"],
      ["2026-02-27", "4", "128.0"],
      ["2026-02-28", "0", "0.0"],
      ["2026-03-01", "2", "64.0"],
    ]);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});
