/** The ends of times on SQLite, to the millisecond. On Redis, whose clock advances by itself, only `store_contract/` can test them. */
import { assertEquals } from "@std/assert";
import type { Store } from "../src/store/admin/store.ts";
import { openSqlite } from "../src/store/sqlite/open.ts";
import { jid, job } from "./store_contract/jobs.ts";
import { FakeClock } from "./support/clock.ts";
import { keepRecord } from "./support/records.ts";

const SPAN_MS = 60_000;

/** Begins a time, and returns what tells whether it is over. */
const TIMES: Readonly<Record<string, (store: Store) => Promise<() => Promise<boolean>>>> = {
  "a throttle": async (store) => {
    const throttle = { key: "k", count: 1, perMs: SPAN_MS };
    await store.jobs.enqueue([job(1, { throttle })]);
    return async () => (await store.jobs.enqueue([job(2, { throttle })]))[0]!.kind === "stored";
  },
  "a once key": async (store) => {
    const once = { key: "k", ttlMs: SPAN_MS };
    await store.jobs.enqueue([job(1, { once })]);
    return async () => (await store.jobs.enqueue([job(2, { once })]))[0]!.kind === "stored";
  },
  "a unique lock": async (store) => {
    const unique = { key: "k", ttlMs: SPAN_MS };
    await store.jobs.enqueue([job(1, { unique })]);
    return async () => (await store.jobs.enqueue([job(2, { unique })]))[0]!.kind === "stored";
  },
  "a delay": async (store) => {
    await store.jobs.enqueue([job(1, { delayMs: SPAN_MS })]);
    return async () => (await store.jobs.promote(1)).moved === 1;
  },
  "a debounce": async (store) => {
    await store.jobs.enqueue([job(1, { debounce: { key: "k", waitMs: SPAN_MS } })]);
    return async () => (await store.jobs.promote(1)).moved === 1;
  },
  "a pause": async (store) => {
    await store.jobs.enqueue([job(1)]);
    await store.admin.configure("default", { pause: SPAN_MS });
    return async () => (await store.jobs.take({ queues: ["default"], limit: 1, worker: "w" })).length === 1;
  },
  "a record": async (store) => {
    await keepRecord(store, { jid: jid(1), ttlMs: SPAN_MS, body: "{}" });
    return async () => (await store.results.read({ jids: [jid(1)] })).records[0] === undefined;
  },
};

for (const [what, begin] of Object.entries(TIMES)) {
  Deno.test(`sqlite: ${what} lasts until its last millisecond, and no longer`, async () => {
    const clock = new FakeClock();
    await using store = await openSqlite("sqlite::memory:", { clock });
    const isOver = await begin(store);
    await clock.advance(SPAN_MS - 1);
    assertEquals(await isOver(), false);
    await clock.advance(1);
    assertEquals(await isOver(), true);
  });
}
