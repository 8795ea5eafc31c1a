/** The overview's charts and the API's history show the recorded counts over each range. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { systemClock } from "../../src/clock.ts";
import type { Outcome } from "../../src/store/port/outcomes.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { RUN_BOUNDS_MS } from "../../src/store/port/metrics.ts";
import type { Chart } from "../../src/web/read/charts.ts";
import { register, takeUpTo } from "../store_contract/jobs.ts";
import { onBothStores, push, type Visitor } from "./site.ts";

async function finish(store: Store, ...kinds: ("ack" | "discard")[]): Promise<void> {
  const worker = await register(store);
  for (const i of kinds.keys()) await push(store, `j${i}`);
  const leases = await takeUpTo(store, worker);
  await store.jobs.settle(worker, kinds.map((kind, i): Outcome => ({ kind, token: leases[i]!.token })));
}

/** At noon, far from the change of days. */
const DAY_MS = 24 * 3_600_000;
const toNoon = DAY_MS / 2 - systemClock.now() % DAY_MS;
const NOON = { ...systemClock, now: () => systemClock.now() + toNoon };

async function chartsOf(visitor: Visitor, query: string): Promise<Chart[]> {
  const { text, status } = await visitor.visit(`/${query}`);
  assertEquals(status, 200, query);
  return [...text.matchAll(/data-chart="([^"]+)"/g)].map(([, json]) => JSON.parse(json!.replaceAll("&quot;", '"')));
}

onBothStores("the overview charts throughput, failures, latency and depth over each range", async (site) => {
  const { store, visitor } = site;
  await finish(store, "ack", "ack", "discard");
  const histogram = new Array(RUN_BOUNDS_MS.length + 1).fill(0);
  await store.series.add("classes", [{ class: "A", processed: 3, failed: 1, workedMs: 9, histogram }]);
  await store.series.add("queues", [{ queue: "a", size: 4, latencyMs: 700 }, { queue: "b", size: 5, latencyMs: 90 }]);
  const someone = visitor();
  const sum = (values: readonly (number | null)[]) => values.reduce<number>((all, value) => all + (value ?? 0), 0);
  for (
    const [query, jobSteps, queueSteps] of [
      ["?range=15m", 15, 15],
      ["?range=1h", 60, 60],
      ["?range=24h", 144, 144],
      ["?range=7d", 7, 168],
      ["?range=30d", 30, 720],
      ["", 60, 60],
      ["?range=x", 60, 60],
    ] as const
  ) {
    const [jobs, latency, depth] = await chartsOf(someone, query);
    assertEquals([jobs!.times.length, latency!.times.length, depth!.times.length], [jobSteps, queueSteps, queueSteps]);
    assertEquals(jobs!.series.map(({ label, values }) => [label, sum(values)]), [["Processed", 3], ["Failed", 1]]);
    assertEquals([sum(latency!.series[0]!.values), sum(depth!.series[0]!.values)], [700, 9], query);
    assertEquals(
      depth!.series[0]!.values.filter((value) => value !== null).length,
      1,
      "no value where none was recorded",
    );
  }
  const { text } = await someone.visit("/?range=30d");
  assertEquals(text.match(/data-label="Day"/g)?.length, 30, "the table has each day");
  assertStringIncludes(text, 'data-label="Failed">1<');
}, { clock: NOON, storeClock: NOON });

onBothStores("the API returns each day's counts", async ({ store, visitor }) => {
  await finish(store, "ack", "ack", "discard");
  const someone = visitor();
  const { days } = (await someone.api("GET", "/history?days=2")).value;
  assertEquals(days.map(({ processed, failed }: Record<string, number>) => [processed, failed]), [[0, 0], [3, 1]]);
  assertEquals((await someone.api("GET", "/history")).value.days.length, 90);
  for (const wrong of ["0", "-1", "1.5", "1826", "x", "1e9"]) {
    assertEquals((await someone.api("GET", `/history?days=${wrong}`)).status, 422, wrong);
  }
  const document = (await someone.api("GET", "/openapi.json")).value;
  assertStringIncludes(document.paths["/history"].get.parameters[0].description, "1 to 1825");
}, { clock: NOON, storeClock: NOON });
