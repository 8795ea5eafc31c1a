/**
 * Waiting on Redis: who wakes it, what it costs, and that nothing of it is left over.
 *
 * @module
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { openStore } from "../src/store/open.ts";
import { Connection } from "../src/store/redis/client/connection.ts";
import type { Context } from "../src/store/redis/context.ts";
import { ReconnectingClient } from "../src/store/redis/client/reconnecting_client.ts";
import { Mover } from "../src/store/redis/move.ts";
import { QueueWatch } from "../src/store/redis/wait/queue_watch.ts";
import { ConnectionLost } from "../src/store/redis/client/errors.ts";
import { type Topic, WakeChannel } from "../src/store/redis/wait/wake_channel.ts";
import { until } from "./support/eventually.ts";
import { startRedis } from "./support/redis.ts";
import { job, processRecord, takeUpTo, TTL_MS, woken } from "./store_contract/jobs.ts";
import type { Store } from "../src/store/admin/store.ts";

const redis = await startRedis();
Deno.test.afterAll(async () => await redis[Symbol.asyncDispose]());

async function openEmpty(): Promise<Store> {
  await until(async () => (await connections()).length === 0, "the connections of the test before are closed");
  await redis.cli("FLUSHALL");
  await redis.cli("CONFIG", "RESETSTAT");
  return await openStore(redis.url);
}

/** The names of our connections. */
async function connections(): Promise<string[]> {
  const clients = await redis.cli("CLIENT", "LIST");
  return [...clients.matchAll(/ name=(jobs:\S+)/g)].map((match) => match[1]!).sort();
}

function newLink(name: string): ReconnectingClient {
  const endpoint = { host: "127.0.0.1", port: redis.port };
  const options = { endpoint, login: {}, database: 0, name: `jobs:${name}`, silenceMs: 100_000 };
  return new ReconnectingClient({
    dial: (signal) => Connection.dial(options, signal),
    shown: redis.url,
    waitMs: 5_000,
  });
}

/**
 * The watch alone, on links of its own.
 *
 * @param looked called with what is answered when it has looked which queues are closed
 */
function openWatch(
  blockS: number,
  channel?: WakeChannel,
  looked = (closed: unknown) => Promise.resolve(closed),
): { watch: QueueWatch } & AsyncDisposable {
  const links: ReconnectingClient[] = [];
  const blockingLink = (name: string) => {
    links.push(newLink(name));
    return links.at(-1)!;
  };
  const link = blockingLink("commands");
  const run = link.run.bind(link);
  link.run = async (...call) => await looked(await run(...call));
  const shared: Omit<Context, "mover"> = {
    link,
    subscriptions: link,
    blockingLink,
    offset: () => "0",
    waitMs: 5_000,
    wire: 7,
    deadLimits: ["1", "1"],
  };
  const context: Context = { ...shared, mover: new Mover(shared) };
  const watch = new QueueWatch(context, channel ?? new WakeChannel(link), blockS);
  return {
    watch,
    async [Symbol.asyncDispose]() {
      watch.close();
      for (const link of links) await link.close();
    },
  };
}

/** How often a command was called since the test began. */
async function calls(command: string): Promise<number> {
  const stats = await redis.cli("INFO", "commandstats");
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
}

Deno.test("redis: waiting for work: a foreign push wakes it, and the job is still there to be taken", async () => {
  await using store = await openEmpty();
  await woken((signal) => store.jobs.waitForWork(["mail", "default"], signal), async () => {
    await until(async () => (await connections()).length === 4);
    await redis.cli("LPUSH", "queue:mail", job(1, { queue: "mail" }).payload);
  });
  assertEquals((await takeUpTo(store, "host:1:aaaaaaaaaaaa", 10, ["mail"])).map(({ payload }) => payload), [
    job(1, { queue: "mail" }).payload,
  ]);
});

Deno.test("redis: waiting for work: work that is there already wakes it at once", async () => {
  await using store = await openEmpty();
  await store.jobs.enqueue([job(1)]);
  await woken((signal) => store.jobs.waitForWork(["default"], signal), () => Promise.resolve());
});

Deno.test("redis: waiting for work: one connection per queue, however many wait, and none when the store is closed", async () => {
  const store = await openEmpty();
  const patience = new AbortController();
  const waits = [["a", "b"], ["b", "a"], ["b"]].map((queues) => store.jobs.waitForWork(queues, patience.signal));
  await until(async () => (await connections()).length === 4);
  patience.abort();
  await Promise.all(waits);
  const again = new AbortController();
  const wait = store.jobs.waitForWork(["a", "b"], again.signal);
  await redis.cli("LPUSH", "queue:a", "{}");
  await wait;
  assertEquals(await connections(), ["jobs:commands", "jobs:queue", "jobs:queue", "jobs:subscriptions"]);
  await store[Symbol.asyncDispose]();
  await until(async () => (await connections()).length === 0);
});

Deno.test("redis: waiting for work: waits that follow one another do not block anew each time", async () => {
  await using store = await openEmpty();
  for (let i = 0; i < 20; i++) {
    const patience = new AbortController();
    const wait = store.jobs.waitForWork(["default"], patience.signal);
    await store.admin.stats();
    patience.abort();
    await wait;
  }
  assert(await calls("blmove") <= 1);
});

Deno.test("redis: waiting for work: a connection that nobody waits on is closed", async () => {
  await using watched = openWatch(0.05);
  const patience = new AbortController();
  const wait = watched.watch.wait(["default"], patience.signal);
  await until(async () => (await connections()).length === 2);
  patience.abort();
  await wait;
  await until(async () => (await connections()).length === 1);
});

Deno.test("redis: waiting for work: a wait soon after another finds its connection, and is woken", async () => {
  await using watched = openWatch(60);
  for (let i = 0; i < 3; i++) {
    await woken((signal) => watched.watch.wait(["default"], signal), async () => {
      await redis.cli("LPUSH", "queue:default", "{}");
    });
    await redis.cli("DEL", "queue:default");
  }
  assertEquals((await connections()).length, 2);
});

Deno.test("redis: waiting for work: that a job may be taken again is heard also while it is looked whether one may", async () => {
  await using store = await openEmpty();
  await store.jobs.enqueue([job(1)]);
  await store.admin.pause("default");
  const link = newLink("commands");
  /** Of which nothing is seen because time has passed. */
  const channel = new class extends WakeChannel {
    override wait(topic: Topic, signal: AbortSignal, _ms: number, heard?: number): Promise<void> {
      return super.wait(topic, signal, 3_600_000, heard);
    }
  }(link);
  const patience = new AbortController();
  const listening = channel.wait("queues", patience.signal, 0);
  await until(async () => (await redis.cli("PUBSUB", "NUMSUB", "jobs:wake")).endsWith("1"), "it listens");
  await using watched = openWatch(60, channel, async (answer) => {
    const heard = channel.heard("queues");
    await store.admin.pause("default", 0);
    await until(() => channel.heard("queues") > heard);
    return answer;
  });
  await woken((signal) => watched.watch.wait(["default"], signal), () => Promise.resolve());
  patience.abort();
  await listening;
  await link.close();
});

Deno.test("redis: a connection given up while it is made leaves nothing behind", async () => {
  const options = {
    endpoint: { host: "127.0.0.1", port: redis.port },
    login: {},
    database: 0,
    name: "x",
    silenceMs: 5_000,
  };
  await assertRejects(() => Connection.dial(options, AbortSignal.abort()), ConnectionLost);
});

Deno.test("redis: waiting for work: a paused queue with jobs does not wake it, its release does", async () => {
  await using store = await openEmpty();
  await store.jobs.enqueue([job(1)]);
  await store.admin.pause("default");
  const begun = performance.now();
  await woken((signal) => store.jobs.waitForWork(["default"], signal), async () => {
    for (let i = 0; i < 20; i++) await redis.cli("PING");
    assertEquals(await calls("blmove"), 0);
    assert(await calls("smismember") <= 2 + (performance.now() - begun) / 1_000);
    await store.admin.pause("default", 0);
  });
});

Deno.test("redis: waiting for work: beside a paused queue another one wakes it", async () => {
  await using store = await openEmpty();
  await store.jobs.enqueue([job(1)]);
  await store.admin.pause("default");
  await woken((signal) => store.jobs.waitForWork(["default", "mail"], signal), async () => {
    await until(async () => (await connections()).includes("jobs:queue"));
    await store.jobs.enqueue([job(2, { queue: "mail" })]);
  });
});

Deno.test("redis: waiting for a due time: our earlier one wakes it, a later one does not", async () => {
  await using store = await openEmpty();
  const other = await openStore(redis.url);
  await store.jobs.enqueue([job(1, { delayMs: 3_600_000 })]);
  await store.jobs.promote(10);
  let over = false;
  await woken((signal) => store.jobs.waitForDue(signal).then(() => over = true), async () => {
    await other.jobs.enqueue([job(2, { delayMs: 7_200_000 })]);
    await other.admin.stats();
    assertEquals(over, false);
    await other.jobs.enqueue([job(3, { delayMs: 60_000 })]);
  });
  await other[Symbol.asyncDispose]();
});

Deno.test("redis: waiting for a due time: one that came in between is not missed", async () => {
  await using store = await openEmpty();
  await store.jobs.promote(10);
  await store.jobs.enqueue([job(1, { delayMs: 60_000 })]);
  await woken((signal) => store.jobs.waitForDue(signal), () => Promise.resolve());
});

Deno.test("redis: waiting for a due time: one that Ruby put in wakes it", async () => {
  await using store = await openEmpty();
  await store.jobs.promote(10);
  await woken((signal) => store.jobs.waitForDue(signal), async () => {
    await redis.cli("ZADD", "schedule", "1700000000.5", job(1).payload);
  });
});

Deno.test("redis: waiting for a due time: idle, it looks at most once a second", async () => {
  await using store = await openEmpty();
  const patience = new AbortController();
  const begun = performance.now();
  const wait = store.jobs.waitForDue(patience.signal);
  for (let i = 0; i < 20; i++) await redis.cli("PING");
  patience.abort();
  await wait;
  const looks = await calls("zrange");
  assert(looks <= 2 + (performance.now() - begun) / 1_000, `${looks}`);
});

Deno.test("redis: waiting for a due time: it is told when one is earlier than all others, and only then", async () => {
  await using store = await openEmpty();
  const options = {
    endpoint: { host: "127.0.0.1", port: redis.port },
    login: {},
    database: 0,
    name: "x",
    silenceMs: 5_000,
  };
  const listener = await Connection.dial(options, new AbortController().signal);
  const told: string[] = [];
  await listener.subscribe("jobs:wake", (message) => told.push(message));
  await store.workers.heartbeat(processRecord("host:1:aaaaaaaaaaaa"), TTL_MS);
  await store.jobs.enqueue([job(1, { delayMs: 60_000 }), job(9)]);
  await store.jobs.enqueue([job(2, { delayMs: 90_000 })]);
  const [lease] = await takeUpTo(store, "host:1:aaaaaaaaaaaa", 1);
  await store.jobs.settle("host:1:aaaaaaaaaaaa", [{
    kind: "snooze",
    delayMs: 1_000,
    token: lease!.token,
    payload: "{}",
  }]);
  await store.admin.pause("default", 0);
  await until(() => told.includes("resume"));
  assertEquals(told, ["due", "due", "resume"]);
  listener.destroy();
});

Deno.test("redis: waiting: jobs of a limited queue that end make nobody look who does not wait for that queue", async () => {
  await using store = await openEmpty();
  const other = await openStore(redis.url);
  const owner = "host:1:aaaaaaaaaaaa";
  await other.workers.heartbeat(processRecord(owner), TTL_MS);
  await other.admin.limit("default", { running: 100 });
  await other.jobs.enqueue(Array.from({ length: 50 }, (_, i) => job(i + 1)));
  const leases = await takeUpTo(other, owner, 50);
  const patience = new AbortController();
  await store.cron.read();
  const begun = performance.now();
  const before = await calls("zrange") + await calls("get");
  const waits = [store.jobs.waitForDue(patience.signal), store.cron.wait(patience.signal)];
  await until(async () => (await redis.cli("PUBSUB", "NUMSUB", "jobs:wake")).endsWith("1"), "it listens");
  for (const { token } of leases) await other.jobs.settle(owner, [{ kind: "ack", token }]);
  const looks = await calls("zrange") + await calls("get") - before;
  assert(looks <= 5 + 3 * (performance.now() - begun) / 1_000, `${looks}`);
  patience.abort();
  await Promise.all(waits);
  await other[Symbol.asyncDispose]();
});

Deno.test("redis: commands: Sidekiq's signals and ours arrive at once, on one connection", async () => {
  await using store = await openEmpty();
  const identity = "host:1:aaaaaaaaaaaa";
  await store.workers.heartbeat(processRecord(identity), TTL_MS);
  const signal = await woken((signal) => store.workers.receive(identity, signal), async () => {
    await until(async () => (await connections()).length === 2);
    await redis.cli("LPUSH", `${identity}-signals`, "TSTP");
  });
  assertEquals(signal, [{ verb: "quiet" }]);
  const ours = await woken((signal) => store.workers.receive(identity, signal), async () => {
    assertEquals(await store.workers.send(identity, { id: "1", verb: "cancel", jid: "abc" }), true);
  });
  assertEquals(ours, [{ id: "1", verb: "cancel", jid: "abc" }]);
  await until(async () => (await connections()).length === 1);
});

Deno.test("redis: commands: a process of Sidekiq's is asked by signal", async () => {
  await using store = await openEmpty();
  await redis.cli("SADD", "processes", "ruby:7:cccccccccccc");
  await redis.cli("HSET", "ruby:7:cccccccccccc", "info", "{}");
  assertEquals(await store.workers.send("ruby:7:cccccccccccc", { verb: "stop" }), true);
  assertEquals(await redis.cli("LRANGE", "ruby:7:cccccccccccc-signals", "0", "-1"), "TERM");
  assertEquals(await store.workers.send("ruby:7:cccccccccccc", { verb: "cancel", jid: "x" }), false);
  assertEquals(await store.workers.send("ruby:8:dddddddddddd", { verb: "stop" }), false);
});

Deno.test("redis: a worker opens five connections and one per queue", async () => {
  await using main = await openEmpty();
  // The heartbeat has a store of its own, in a thread of its own.
  await using beating = await openStore(redis.url);
  const identity = "host:1:aaaaaaaaaaaa";
  await beating.workers.heartbeat(processRecord(identity), TTL_MS);
  const patience = new AbortController();
  const waits = [
    main.jobs.waitForWork(["a", "b", "c"], patience.signal),
    main.jobs.waitForDue(patience.signal),
    main.workers.receive(identity, patience.signal),
  ];
  await until(async () => (await connections()).length === 7);
  assertEquals(await connections(), [
    "jobs:commands",
    "jobs:commands",
    "jobs:queue",
    "jobs:queue",
    "jobs:queue",
    "jobs:receive",
    "jobs:subscriptions",
  ]);
  patience.abort();
  await Promise.all(waits);
});
