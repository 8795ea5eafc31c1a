/**
 * Measures a store with many scheduled jobs: additions, size, pages, and jobs that come due. Prints one line of JSON.
 *
 *     deno run -A tests/bench/delays.ts STORE-URL COUNT
 */
import { Client } from "../../src/client/client.ts";
import { openStore } from "../../src/store/open.ts";
import { measureScheduled, type ScheduledResult } from "./scheduled.ts";
import { sizeOf } from "./schedules_load.ts";
import { spreadOf } from "./measure.ts";

/** The costs. */
export interface DelayCosts {
  readonly addedPerSecond: number;
  readonly bytesPerJob: number;
  /** A page of 100, in the middle of a walk. */
  readonly pageMs: number;
  /** Jobs that are due at 1,000 per second. */
  readonly steady: ScheduledResult;
  /** Jobs per second, if many are due at once. */
  readonly promotedPerSecond: number;
}

const DAY_MS = 86_400_000;
const STEADY = 10_000;
const AT_ONCE = 20_000;
const PAGES = 50;

if (import.meta.main) {
  const [url, counted] = Deno.args;
  const count = Number(counted);
  await using store = await openStore(url!);
  const client = new Client({ store, onUnregistered: () => {} });
  const push = async (jobs: number, at: (i: number) => number) => {
    const requests = function* () {
      for (let i = 0; i < jobs; i++) yield { class: "Noop", args: [i], queue: "unread", at: new Date(at(i)) };
    };
    for await (const { refused } of client.pushMany(requests())) if (refused !== undefined) throw new Error(refused);
  };
  const before = await sizeOf(url!);
  const from = Date.now() + DAY_MS;
  let start = performance.now();
  // Not in the order of their times.
  await push(count, (i) => from + (i * 7_919 % count) * 100);
  const addedPerSecond = Math.round(count / (performance.now() - start) * 1_000);
  const bytesPerJob = Math.round((await sizeOf(url!) - before) / count);
  const pages: number[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < PAGES; page++) {
    start = performance.now();
    const { next } = await store.admin.page({ in: "scheduled" }, { limit: 100, ...(cursor && { cursor }) });
    pages.push(performance.now() - start);
    if ((cursor = next) === undefined) break;
  }
  const steady = await measureScheduled(store, STEADY, 1_000);
  await push(AT_ONCE, () => Date.now() + 1_000 + AT_ONCE / 10);
  await new Promise((resolve) => setTimeout(resolve, 1_000 + AT_ONCE / 10));
  start = performance.now();
  let moved = 0;
  while (moved < AT_ONCE) moved += (await store.jobs.promote(1_000)).moved;
  const promotedPerSecond = Math.round(moved / (performance.now() - start) * 1_000);
  const pageMs = Math.round(spreadOf(pages).median * 100) / 100;
  console.log(JSON.stringify({ addedPerSecond, bytesPerJob, pageMs, steady, promotedPerSecond } satisfies DelayCosts));
}
