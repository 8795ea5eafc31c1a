/**
 * On Redis, the waits of steps are counted by hour.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { systemClock } from "../src/clock.ts";
import { openStore } from "../src/store/open.ts";
import { HOUR_MS, job, register, takeUpTo } from "./store_contract/jobs.ts";
import { startRedis } from "./support/redis.ts";

const DAY_MS = 24 * HOUR_MS;

Deno.test("redis: waits that another program leaves behind count until their hour has passed", async () => {
  await using redis = await startRedis();
  // The hour doesn't end during the test.
  let shiftMs = HOUR_MS - Date.now() % HOUR_MS;
  const clock = { ...systemClock, now: () => Date.now() + shiftMs };
  await using store = await openStore(redis.url, { clock });
  const worker = await register(store);
  await store.jobs.enqueue([job(1), job(2), job(3)]);
  const leases = await takeUpTo(store, worker, 3);
  const sleep = (i: number, name: string, forMs: number) =>
    store.steps.wait({ worker, token: leases[i]!.token, jid: `j${i}` }, { name, about: "", forMs });
  const asleep = async () => (await store.admin.stats()).waits.sleep;
  const fields = async () =>
    (await redis.cli("HKEYS", "jobs:waits")).trim().split("\n").filter((field) => field !== "");

  for (let n = 0; n < 100; n++) await sleep(0, `nap ${n}`, 1);
  await sleep(1, "rest", 400 * DAY_MS);
  assertEquals([await asleep(), (await fields()).length], [101, 2]);
  const last = Math.max(...(await fields()).map((field) => Number(field.slice("sleep ".length))));
  const lateMs = last * HOUR_MS - (clock.now() + 400 * DAY_MS);
  assert(last % 24 === 0 && lateMs > -HOUR_MS && lateMs <= DAY_MS, "a long wait counts until the end of its day");

  // Sidekiq deletes a job without its steps.
  await redis.cli("DEL", "jobs:steps:j0");
  assertEquals(await asleep(), 101);
  shiftMs += 2 * HOUR_MS;
  assertEquals(await asleep(), 1);
  // Each wait looks at two of three fields.
  for (let n = 0; n < 50; n++) await sleep(2, `nap ${n}`, 1);
  assertEquals([await asleep(), (await fields()).length], [51, 2], "the hour that has passed is forgotten");
  await redis.cli("HSET", "jobs:steps:j1", "", "1800000000.000"); // when it wakes
  assertEquals(await store.steps.clear("j1"), 1);
  assertEquals([await asleep(), (await fields()).length], [50, 1]);
  assertEquals(await redis.cli("HVALS", "jobs:steps:j1"), "wake", "only that the running job must not sleep is left");
});

Deno.test("redis: a key keeps the waits for it that have not ended, and no others", async () => {
  await using redis = await startRedis();
  await using store = await openStore(redis.url);
  const worker = await register(store);
  await store.jobs.enqueue([job(1)]);
  const { token } = (await takeUpTo(store, worker, 1))[0]!;
  const lease = { worker, token, jid: "j" };
  const wait = (name: string, forMs: number) =>
    store.steps.wait(lease, { name, about: `"kind":"wait","key":"k"`, forMs, key: "k" });
  const waiting = () => redis.cli("ZRANGE", "jobs:waiting:k", "0", "-1");
  for (const name of ["timed out", "woken", "cleared", "waits"]) await wait(name, name === "timed out" ? 0 : HOUR_MS);
  await wait("timed out", 0);
  await store.steps.clear("j", ["cleared"]);
  assertEquals(await waiting(), "1 j woken\n1 j waits");
  assertEquals(await store.steps.clear("j", "waits"), 2);
  assertEquals(await waiting(), "");
});

Deno.test("redis: a signal passes thousands of waits of jobs that have gone, in steps", async () => {
  await using redis = await startRedis();
  await using store = await openStore(redis.url);
  const worker = await register(store);
  await redis.cli("EVAL", "for n = 1, 2500 do redis.call('ZADD', 'jobs:waiting:k', n, n .. ' gone') end", "0");
  await store.jobs.enqueue([job(1)]);
  const { token } = (await takeUpTo(store, worker, 1))[0]!;
  await store.steps.wait({ worker, token, jid: "j" }, {
    name: "a",
    about: `"kind":"wait","key":"k"`,
    forMs: HOUR_MS,
    key: "k",
  });
  assertEquals(await store.steps.signal({ key: "k", data: "1", ttlMs: HOUR_MS }), { reached: "j" });
  assertEquals(await redis.cli("EXISTS", "jobs:waiting:k"), "0");
});
