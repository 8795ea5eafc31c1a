/** The pages of the job classes, which show the counts that workers recorded. */
import { assert, assertAlmostEquals, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { RUN_BOUNDS_MS, runBucket } from "../../src/store/port/metrics.ts";
import { onBothStores } from "./site.ts";

onBothStores("without runs, the page of the classes says so", async ({ store, visitor }) => {
  assertStringIncludes((await visitor().visit("/classes")).text, "No jobs ran in this time.");
  await store.classes.declare([{ name: "New", options: "{}" }]);
  assertStringIncludes((await visitor().visit("/classes/New")).text, "No runs in this time.");
});

onBothStores("each class is shown with runs, failures and percentiles, sorted by any of them", async (site) => {
  const { store, visitor } = site;
  const someone = visitor();
  const histogram = new Array(RUN_BOUNDS_MS.length + 1).fill(0);
  histogram[runBucket(120)] = 1_200;
  const hostile = '<script>alert("1")</script>';
  await store.series.add("classes", [
    { class: "Thumb::Nail", processed: 1_500, failed: 300, workedMs: 144_000, histogram },
    { class: "Quick", processed: 2, failed: 0, workedMs: 1, histogram: histogram.map((_, i) => i === 0 ? 2 : 0) },
    { class: hostile, processed: 1, failed: 1, workedMs: 0, histogram: histogram.map(() => 0) },
  ]);
  for (
    const [over, perMinute] of [["1h", "25.0"], ["8h", "3.1"], ["24h", "1.0"], ["72h", "0.3"], ["x", "25.0"]] as const
  ) {
    const { text } = await someone.visit(`/classes?over=${over}`);
    for (const shown of ["Thumb::Nail", "1,500", perMinute, "300 (20 %)", "2m24s", "120ms", "&lt; 20ms"]) {
      assertStringIncludes(text, shown, over);
    }
    assert(!text.includes(hostile));
  }
  const order = async (sort: string) =>
    [...(await someone.visit(`/classes?sort=${sort}`)).text.matchAll(/href="\/classes\/([^"?]+)/g)]
      .map(([, name]) => decodeURIComponent(name!));
  assertEquals(await order("runs"), ["Thumb::Nail", "Quick", hostile]);
  // The number of failures leads to their errors.
  assertMatch(
    (await someone.visit("/classes")).text,
    /href="\/retrying\?by=error&amp;class=Thumb%3A%3ANail">300 \(/,
  );
  assertEquals(await order("rate"), ["Thumb::Nail", "Quick", hostile]);
  assertMatch((await someone.visit("/classes?sort=rate")).text, /aria-sort="descending"><a[^>]*>per min ↓</);
  assertEquals((await order("failed"))[0], hostile);
  assertEquals((await order("p95"))[0], "Thumb::Nail");
  const one = (await someone.visit("/classes/Thumb%3A%3ANail?over=8h")).text;
  for (const shown of ["≤ 150ms", "100.0 %", "Runs per 10 minutes", "/retrying?class=Thumb%3A%3ANail"]) {
    assertStringIncludes(one, shown);
  }
  // The heat map has a cell of the highest level for the latest step, and names its runs.
  assertMatch(one, /<path class="level-6" d="M\d+ 0h1v1h-1z"/);
  assertMatch(one, /<title>[-\d: ]+ UTC: 1,200 runs, most ≤ 150ms<\/title>/);
  assert(!(await someone.visit(`/classes/${encodeURIComponent(hostile)}`)).text.includes(hostile));
  const { measured } = (await someone.api("GET", "/classes?over=8h")).value;
  assertEquals([measured.window, measured.more, measured.boundsMs.length], ["8h", 0, 25]);
  const [first] = measured.classes;
  assertEquals([first.class, first.processed, first.failed, first.meanMs], ["Thumb::Nail", 1_500, 300, 120]);
  assertAlmostEquals(first.p95Ms, 120, 0.001);
  assertEquals(first.series.length, 48);
});
