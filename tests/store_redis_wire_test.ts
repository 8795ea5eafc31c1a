/**
 * The contents of Redis, byte for byte: Sidekiq's keys and formats, and the pitfalls of sharing them with Ruby.
 *
 * @module
 */
import { assert, assertAlmostEquals, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { systemClock } from "../src/clock.ts";
import { StoreError } from "../src/store/port/errors.ts";
import { openStore, type StoreOptions } from "../src/store/open.ts";
import { startRedis } from "./support/redis.ts";
import { job, register, rescueFor, RESCUER, takeUpTo, TTL_MS, woken, workerRecord } from "./store_contract/jobs.ts";
import type { Store } from "../src/store/admin/store.ts";

const redis = await startRedis();
Deno.test.afterAll(async () => await redis[Symbol.asyncDispose]());

const WORKER = "host:1:aaaaaaaaaaaa";

async function openEmpty(options: StoreOptions = {}): Promise<Store> {
  await redis.cli("FLUSHALL");
  return await openStore(redis.url, options);
}

/** The lines of a command's output. */
async function lines(...command: string[]): Promise<string[]> {
  return (await redis.cli(...command)).split("\n");
}

Deno.test("redis wire: a push goes to the left, and its queue is listed", async () => {
  await using store = await openEmpty();
  await store.jobs.enqueue([job(1), job(2, { queue: "mail" }), job(3)]);
  assertEquals((await lines("SMEMBERS", "queues")).sort(), ["default", "mail"]);
  const [newest, oldest] = await lines("LRANGE", "queue:default", "0", "-1");
  assert(newest!.includes('"args":[3]') && oldest!.includes('"args":[1]'));
});

Deno.test("redis wire: times have a fraction, which every version of Sidekiq reads as seconds", async () => {
  // A whole second: the fraction is lost most easily there.
  const clock = wholeSecond();
  await using store = await openEmpty({ clock });
  await store.jobs.enqueue([job(1)]);
  assertMatch(await redis.cli("LINDEX", "queue:default", "0"), /"enqueued_at":\d{10}\.\d{3}}$/);
  await store.workers.heartbeat(workerRecord(WORKER, { startedAt: 1_700_000_000_000 }), TTL_MS);
  assertMatch(await redis.cli("HGET", WORKER, "info"), /"started_at":1700000000\.000,/);
  assertMatch(await redis.cli("HGET", WORKER, "beat"), /^\d{10}\.\d{3}$/);
});

for (const skewMs of [3_600_000, -3_600_000, 0]) {
  Deno.test(`redis wire: with a clock that is ${skewMs / 1_000} s off, jobs have the server's time, and the second push is sent with it`, async () => {
    await using store = await openEmpty();
    await redis.cli("CONFIG", "SET", "slowlog-log-slower-than", "0");
    const realNow = Date.now;
    try {
      Date.now = () => realNow() + skewMs;
      for (const n of [1, 2]) {
        const before = await serverMs();
        await store.jobs.enqueue([job(n)]);
        const stored = await redis.cli("LINDEX", "queue:default", "0");
        const { enqueued_at: seconds, args } = JSON.parse(stored);
        assertEquals([args, stored.match(/enqueued_at/g)?.length], [[n], 1]);
        assert(seconds * 1_000 >= before - 100 && seconds * 1_000 <= await serverMs() + 100);
      }
    } finally {
      Date.now = realNow;
      await redis.cli("CONFIG", "SET", "slowlog-log-slower-than", "10000");
    }
    // Of the command: EVALSHA, the script, 1, its key, then the arguments, of which the fifth is the client's time.
    const pushes = [...(await redis.cli("SLOWLOG", "GET", "20")).matchAll(/^jobs:pusher:\S+\n0\n7\n2\n\d+\n(\d+)$/gm)];
    assertEquals(pushes.length, 1);
    assertAlmostEquals(Number(pushes[0]![1]), await serverMs(), 60_000);
  });
}

async function serverMs(): Promise<number> {
  const [seconds, micros] = await lines("TIME");
  return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
}

Deno.test("redis wire: times in Sidekiq 8's format are whole milliseconds", async () => {
  await using store = await openEmpty({ sidekiqWire: 8 });
  await store.jobs.enqueue([job(1), job(2, { delayMs: 1 })]);
  assertMatch(await redis.cli("LINDEX", "queue:default", "0"), /"enqueued_at":\d{13}}$/);
  await redis.cli("ZADD", "schedule", "XX", "1700000000.0", job(2).payload);
  await store.jobs.promote(10);
  assertMatch(await redis.cli("LINDEX", "queue:default", "0"), /"enqueued_at":\d{13}}$/);
  // Scores are seconds in every version.
  await store.jobs.enqueue([job(3, { at: 4_000_000_000_125 })]);
  assertEquals(await lines("ZRANGE", "schedule", "0", "-1", "WITHSCORES"), [job(3).payload, "4000000000.125"]);
});

Deno.test("redis wire: a scheduled member has neither enqueued_at nor at, and its score is in seconds", async () => {
  await using store = await openEmpty();
  await store.jobs.enqueue([job(1, { at: 4_000_000_000_000 })]);
  assertEquals(await lines("ZRANGE", "schedule", "0", "-1", "WITHSCORES"), [job(1).payload, "4000000000"]);
});

Deno.test("redis wire: promotion from Sidekiq's older format sets enqueued_at once", async () => {
  await using store = await openEmpty();
  const old =
    '{"class":"A","args":[1.0,12345678901234567890],"queue":"mail","jid":"a","enqueued_at":1600000000.5,"at":1}';
  await redis.cli("ZADD", "schedule", "1600000000.1234567", old);
  assertEquals(await store.jobs.promote(10), { moved: 1, buried: 0, nextInMs: undefined });
  assertMatch(
    await redis.cli("LINDEX", "queue:mail", "0"),
    /^{"class":"A","args":\[1\.0,12345678901234567890\],"queue":"mail","jid":"a","enqueued_at":\d{10}\.\d{3}}$/,
  );
  assertEquals(await redis.cli("SMEMBERS", "queues"), "mail");
});

Deno.test("redis wire: a retry stores the payload unchanged, with its score in seconds", async () => {
  await using store = await openEmpty();
  await register(store, WORKER);
  await store.jobs.enqueue([job(1)]);
  const [lease] = await takeUpTo(store, WORKER);
  const payload = '{"class":"A","args":[1.0],"jid":"a","queue":"default","retry_count":0,"failed_at":1700000000.000}';
  await store.jobs.settle(WORKER, [{ kind: "retry", token: lease!.token, delayMs: 60_000, payload }]);
  const [member, score] = await lines("ZRANGE", "retry", "0", "-1", "WITHSCORES");
  assertEquals(member, payload);
  assertAlmostEquals(Number(score), Date.now() / 1000 + 60, 20);
});

Deno.test("redis wire: byte-identical jobs stay two, in a queue and in every set", async () => {
  await using store = await openEmpty();
  await register(store, WORKER);
  const { payload } = job(1);
  await store.jobs.enqueue([job(1, { at: 4_000_000_000_000 }), job(1, { at: 4_000_000_000_000 })]);
  assertEquals((await store.admin.stats()).scheduled, 2);
  await redis.cli("LPUSH", "queue:default", payload, payload, payload, payload);
  const tokens = (await takeUpTo(store, WORKER)).map((lease) => lease.token);
  await store.jobs.settle(WORKER, [
    { kind: "retry", token: tokens[0]!, delayMs: 60_000, payload },
    { kind: "retry", token: tokens[1]!, delayMs: 60_000, payload },
    { kind: "bury", token: tokens[2]!, payload },
    { kind: "bury", token: tokens[3]!, payload },
  ]);
  const { retry, dead } = await store.admin.stats();
  assertEquals([retry, dead], [2, 2]);
  for (const set of ["scheduled", "retry", "dead"] as const) {
    for (const entry of (await store.admin.page({ in: set })).entries) {
      assertEquals(JSON.parse(entry.payload), JSON.parse(payload));
    }
  }
  await redis.cli("LPUSH", "queue:default", payload, payload);
  const [first] = (await store.admin.page({ in: "queue", queue: "default" })).entries;
  assertEquals(await store.jobs.edit([first!.ref], "delete"), 1);
  assertEquals(await redis.cli("LLEN", "queue:default"), "1");
});

Deno.test("redis wire: a released job returns to the right, where it is taken next, and its queue is listed again", async () => {
  await using store = await openEmpty();
  await register(store, WORKER);
  await store.jobs.enqueue([job(1), job(2)]);
  const [first] = await takeUpTo(store, WORKER, 1);
  // Ruby's Queue#clear.
  await redis.cli("SREM", "queues", "default");
  await store.jobs.settle(WORKER, [{ kind: "release", token: first!.token }]);
  assertEquals((await lines("LRANGE", "queue:default", "-1", "-1"))[0], first!.payload);
  assertEquals(await redis.cli("SMEMBERS", "queues"), "default");
});

Deno.test("redis wire: payloads that aren't UTF-8 are buried unchanged from any place", async () => {
  await using store = await openEmpty();
  await register(store, WORKER);
  const bad = "\\255\\254{";
  const evaluate = (...command: string[]) =>
    redis.cli("EVAL", `return redis.call(${command.map((one) => `"${one}"`).join(",")})`, "0");
  await evaluate("ZADD", "schedule", "1600000000", bad);
  assertEquals(await store.jobs.promote(10), { moved: 0, buried: 1, nextInMs: undefined });
  await evaluate("LPUSH", "queue:default", bad + "2");
  const [lease] = await takeUpTo(store, WORKER);
  await store.jobs.settle(WORKER, [{ kind: "bury", token: lease!.token, payload: lease!.payload }]);
  await evaluate("LPUSH", "queue:default", bad + "3");
  const [queued] = (await store.admin.page({ in: "queue", queue: "default" })).entries;
  assertEquals(await store.jobs.edit([queued!.ref], "kill"), 1);
  const dead = await redis.cli(
    "EVAL",
    "local t = {} for i, m in ipairs(redis.call('ZRANGE', 'dead', 0, -1)) do t[i] = redis.sha1hex(m) end table.sort(t) return t",
    "0",
  );
  const expected = await redis.cli(
    "EVAL",
    `local t = {} for i, m in ipairs({"${bad}", "${bad}2", "${bad}3"}) do t[i] = redis.sha1hex(m) end table.sort(t) return t`,
    "0",
  );
  assertEquals(dead, expected);
});

Deno.test("redis wire: reads the age of a queue from seconds and from milliseconds", async () => {
  await using store = await openEmpty();
  const now = Date.now();
  const times = { seconds: (now / 1000 - 60).toFixed(3), milliseconds: `${now - 60_000}` };
  for (const [queue, time] of Object.entries(times)) {
    await redis.cli("LPUSH", `queue:${queue}`, `{"class":"A","args":[],"enqueued_at":${time}}`);
    await redis.cli("SADD", "queues", queue);
  }
  for (const { latencyMs } of (await store.admin.stats()).queues) assertAlmostEquals(latencyMs, 60_000, 20_000);
});

Deno.test("redis wire: a ref finds its entry after other jobs returned to the front of the queue", async () => {
  await using store = await openEmpty();
  await register(store, WORKER);
  await store.jobs.enqueue([job(1), job(2), job(3)]);
  const leases = await takeUpTo(store, WORKER, 2);
  const [third] = (await store.admin.page({ in: "queue", queue: "default" })).entries;
  await store.jobs.settle(WORKER, leases.map(({ token }) => ({ kind: "release", token })));
  assertEquals(await store.jobs.edit([third!.ref], "delete"), 1);
  assertEquals((await takeUpTo(store, WORKER)).map(({ payload }) => payload), leases.map(({ payload }) => payload));
});

Deno.test("redis wire: only outcomes of rescued leases are lost", async () => {
  await using store = await openEmpty();
  await register(store, WORKER);
  await store.jobs.enqueue([job(1), job(2), job(3)]);
  const [a, b, c] = (await takeUpTo(store, WORKER)).map(({ token }) => token);
  // The youngest lease is settled first.
  await redis.cli("ZADD", "jobs:workers", "1", WORKER);
  await register(store, RESCUER);
  await redis.cli("HSET", `jobs:worker:${RESCUER}`, "since", "1");
  assertEquals((await rescueFor(store, 1)).rescued, 1);
  await register(store, WORKER);
  const outcomes = [c!, a!, b!].map((token) => ({ kind: "ack", token } as const));
  assertEquals(await store.jobs.settle(WORKER, outcomes), { lost: [c!], dropped: 0 });
});

Deno.test("redis wire: a worker has the fields that Sidekiq 6.4 to 8.1 read, for a minute", async () => {
  await using store = await openEmpty();
  const work = [{ task: "processor-3", queue: "default", payload: job(1).payload, since: 1_700_000_000_000 }];
  await store.workers.heartbeat(
    workerRecord(WORKER, {
      concurrency: 7,
      busy: 1,
      rss: 64 * 1024 * 1024,
      quiet: true,
      tag: "t",
      labels: ["l"],
      work,
    }),
    TTL_MS,
  );
  assertEquals(await redis.cli("SMEMBERS", "processes"), WORKER);
  const info = JSON.parse(await redis.cli("HGET", WORKER, "info"));
  assertEquals(info, {
    hostname: "host",
    started_at: 1_700_000_000,
    pid: 4711,
    tag: "t",
    labels: ["l"],
    identity: WORKER,
    queues: ["default"],
    weights: [{ default: 0 }],
    concurrency: 7,
    version: "0.1.0",
    embedded: false,
    capsules: { default: { concurrency: 7, mode: "strict", weights: { default: 0 } } },
  });
  assertEquals(await lines("HMGET", WORKER, "concurrency", "busy", "quiet", "rss"), ["7", "1", "true", "65536"]);
  assertMatch(await redis.cli("HGET", WORKER, "rtt_us"), /^\d+$/);
  for (const key of [`${WORKER}:work`, `${WORKER}:workers`]) {
    const json = await redis.cli("HGET", key, "processor-3");
    assertMatch(json, /"run_at":1700000000\.000}$/);
    assertEquals(JSON.parse(json), { queue: "default", payload: job(1).payload, run_at: 1_700_000_000 });
    assertAlmostEquals(Number(await redis.cli("TTL", key)), 60, 20);
  }
  assertAlmostEquals(Number(await redis.cli("TTL", WORKER)), 60, 20);
  await store.workers.heartbeat(workerRecord(WORKER), TTL_MS);
  assertEquals(await redis.cli("EXISTS", `${WORKER}:work`, `${WORKER}:workers`), "0");
  await store.workers.deregister(WORKER);
  assertEquals(await redis.cli("KEYS", "*"), "");
});

Deno.test("redis wire: counts totals overall and per day (UTC), kept for five years", async () => {
  const days: [string, number][] = [
    ["2024-02-29", Date.UTC(2024, 1, 29, 23, 59)],
    ["2024-03-01", Date.UTC(2024, 2, 1)],
    ["2027-12-31", Date.UTC(2027, 11, 31, 12)],
    ["2100-03-01", Date.UTC(2100, 2, 1, 12)],
  ];
  for (const [day, at] of days) {
    const { systemClock } = await import("../src/clock.ts");
    const start = systemClock.now();
    await using store = await openEmpty({ clock: { ...systemClock, now: () => at + systemClock.now() - start } });
    await register(store, WORKER);
    await store.jobs.enqueue([job(1), job(2), job(3)]);
    const tokens = (await takeUpTo(store, WORKER)).map((lease) => lease.token);
    await store.jobs.settle(WORKER, [{ kind: "ack", token: tokens[0]! }]);
    assertEquals(await redis.cli("EXISTS", "stat:failed"), "0");
    await store.jobs.settle(WORKER, [{ kind: "discard", token: tokens[1]! }, { kind: "ack", token: tokens[2]! }]);
    assertEquals(
      await lines("MGET", "stat:processed", "stat:failed", `stat:processed:${day}`, `stat:failed:${day}`),
      ["3", "1", "3", "1"],
    );
    assertAlmostEquals(Number(await redis.cli("TTL", `stat:processed:${day}`)), 157_680_000, 60);
    assertEquals(await redis.cli("TTL", "stat:processed"), "-1");
  }
});

Deno.test("redis wire: respects Sidekiq's pauses, and pauses queues in Sidekiq's set", async () => {
  await using store = await openEmpty();
  await register(store, WORKER);
  await store.jobs.enqueue([job(1), job(2, { queue: "mail" })]);
  await redis.cli("SADD", "paused", "default");
  await store.admin.configure("mail", { pause: true });
  assertEquals((await lines("SMEMBERS", "paused")).sort(), ["default", "mail"]);
  assertEquals(await takeUpTo(store, WORKER, 10, ["default", "mail"]), []);
});

Deno.test("redis wire: an entry has its exact score, by which Sidekiq's pages find it", async () => {
  await using store = await openEmpty();
  await redis.cli("ZADD", "retry", "1700000000.1234567", job(1).payload);
  const [entry] = (await store.admin.page({ in: "retry" })).entries;
  assertEquals(entry!.at, 1_700_000_000_123);
  assertEquals((await store.admin.get([entry!.ref]))[0]?.payload, job(1).payload);
  assertEquals(await store.jobs.edit([entry!.ref], "requeue"), 1);
  assertEquals(await redis.cli("ZCARD", "retry"), "0");
});

Deno.test("redis wire: lists Sidekiq processes with the descriptions that they publish", async () => {
  await using store = await openEmpty();
  const worker = "ruby:7:cccccccccccc";
  const info = {
    hostname: "ruby",
    started_at: 1_700_000_000.5,
    pid: 7,
    tag: "app",
    concurrency: 25,
    queues: ["a", "b"],
    weights: { a: 1, b: 2 },
    labels: [],
    identity: worker,
  };
  await redis.cli("SADD", "processes", worker, "ruby:8:gone");
  await redis.cli(
    "HSET",
    worker,
    "info",
    JSON.stringify(info),
    "busy",
    "1",
    "beat",
    "1700000001.25",
    "quiet",
    "false",
    "rss",
    "2048",
  );
  await redis.cli(
    "HSET",
    `${worker}:work`,
    "ouz",
    JSON.stringify({ queue: "a", payload: { jid: "x" }, run_at: 1_700_000_001 }),
  );
  assertEquals(await store.workers.list(), [{
    id: worker,
    hostname: "ruby",
    pid: 7,
    tag: "app",
    labels: [],
    queues: ["a", "b"],
    weights: { a: 1, b: 2 },
    concurrency: 25,
    version: "",
    startedAt: 1_700_000_000_500,
    quiet: false,
    busy: 1,
    rss: 2048 * 1024,
    work: [{ task: "ouz", queue: "a", payload: '{"jid":"x"}', since: 1_700_000_001_000 }],
    heartbeatAt: 1_700_000_001_250,
    alive: true,
  }]);
  assertEquals((await store.admin.stats()).workers, 1);
});

Deno.test("redis wire: all keys that Sidekiq doesn't have begin with jobs:", async () => {
  await using store = await openEmpty();
  await register(store, WORKER);
  await store.jobs.enqueue([job(1), job(2, { delayMs: 60_000 }), job(3, { unique: { key: "k", ttlMs: 60_000 } })]);
  await takeUpTo(store, WORKER, 1);
  await store.workers.claim("c", WORKER, 60_000);
  await store.workers.send("1", "x");
  await store.workers.send(WORKER, { verb: "quiet" });
  const sidekiqs = ["queues", "queue:default", "schedule", "processes", WORKER];
  const others = (await lines("KEYS", "*")).filter((key) => !sidekiqs.includes(key));
  assertEquals(others.filter((key) => !key.startsWith("jobs:")), []);
});

function wholeSecond() {
  return {
    now: () => Math.floor(Date.now() / 1000) * 1000,
    monotonic: () => 0,
    sleep: () => Promise.resolve(),
    turn: () => Promise.resolve(),
  };
}

Deno.test("redis wire: a foreign key with the name of a Sidekiq 7 histogram keeps its value and its TTL", async () => {
  // The beginning of a minute, so that the minute doesn't change during the test.
  const at = Date.UTC(2026, 2, 21, 23, 3, 1);
  const shift = at - Date.now();
  await using store = await openEmpty({ clock: { ...systemClock, now: () => Date.now() + shift } });
  const key = "Foo-21-23:3";
  await redis.cli("LPUSH", key, "another's");
  const said = { processed: 1, failed: 0, workedMs: 1, histogram: [1, ...new Array(25).fill(0)] };
  await store.series.add("classes", [{ class: "Foo", ...said }, { class: "Bar", ...said }]);
  assertEquals([await redis.cli("LRANGE", key, "0", "-1"), await redis.cli("TTL", key)], ["another's", "-1"]);
  assertAlmostEquals(Number(await redis.cli("TTL", "Bar-21-23:3")), 8 * 3_600, 60);
});

Deno.test("redis wire: an unreadable limit limits nothing, and doesn't stop the queue", async () => {
  await using store = await openEmpty();
  const worker = await register(store, WORKER);
  const huge = "9".repeat(30);
  const texts = ["", "abc", "5", "5 0", "5 0 0 0", "1e3 0 0", "-1 0 0", `${huge} 0 0`, `0 5 ${huge}`, `0 ${huge} 1000`];
  for (const text of [...texts, "0 0 0", "0 5 0"]) {
    await redis.cli("HSET", "jobs:limits", "mail", text);
    await store.jobs.enqueue([job(1), job(2, { queue: "mail" })]);
    const leases = await takeUpTo(store, worker, 10, ["default", "mail"]);
    assertEquals(leases.map(({ queue }) => queue), ["default", "mail"], text);
    await store.jobs.settle(worker, leases.map(({ token }) => ({ kind: "ack", token })));
    assertEquals((await store.admin.stats()).queues.map(({ limit }) => limit), [undefined, undefined], text);
    assertEquals(await store.jobs.hasQueuedJobs(["default", "mail"]), false, text);
  }
});

Deno.test("redis wire: starts are kept for the period of the current limit", async () => {
  await using store = await openEmpty();
  const worker = await register(store, WORKER);
  const remembered = async () => Number(await redis.cli("PTTL", "jobs:starts:default"));
  await store.admin.configure("default", { limit: { starts: { count: 5, perMs: 60_000 } } });
  await store.jobs.enqueue([job(1)]);
  await takeUpTo(store, worker);
  assert(await remembered() <= 60_000);
  await store.admin.configure("default", { limit: { starts: { count: 5, perMs: 3_600_000 } } });
  assert(await remembered() > 60_000);
});

Deno.test("redis wire: an unreadable queue doesn't lose the jobs taken from another", async () => {
  for (const key of ["queue:mail", "jobs:running:mail", "jobs:starts:mail"]) {
    await using store = await openEmpty();
    const worker = await register(store, WORKER);
    await store.admin.configure("mail", { limit: { running: 5, starts: { count: 5, perMs: 60_000 } } });
    await store.jobs.enqueue([job(1), job(2, { queue: "mail" }), job(3, { queue: "last" })]);
    await redis.cli("DEL", key);
    await redis.cli("SET", key, "of another type");
    const queues = ["default", "mail", "last"];
    await woken((signal) => store.watch({ work: queues }, signal), () => Promise.resolve());
    const leases = await takeUpTo(store, worker, 10, queues);
    assertEquals(leases.map(({ queue }) => queue), ["default", "last"], key);
    // Without jobs in another queue, the take fails.
    await assertRejects(() => takeUpTo(store, worker, 10, queues), StoreError, "a value of another type");
    assertEquals(await redis.cli("HLEN", `jobs:leases:${worker}`), "2");
  }
});
