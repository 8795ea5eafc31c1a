/**
 * Waiting on Redis: the events that end a wait, the commands it costs, and the connections it leaves.
 *
 * @module
 */
import { receiveCommands } from "../src/store/ops/await.ts";
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
import { job, takeUpTo, TTL_MS, woken, workerRecord } from "./store_contract/jobs.ts";
import type { Store } from "../src/store/admin/store.ts";

const redis = await startRedis();
Deno.test.afterAll(async () => await redis[Symbol.asyncDispose]());

async function openEmpty(): Promise<Store> {
  await until(async () => (await connections()).length === 0, "the previous test's connections are closed");
  await redis.cli("FLUSHALL");
  await redis.cli("CONFIG", "RESETSTAT");
  return await openStore(redis.url);
}

/** Returns the names of the store's connections. */
async function connections(): Promise<string[]> {
  const clients = await redis.cli("CLIENT", "LIST");
  return [...clients.matchAll(/ name=(jobs:\S+)/g)].map((match) => match[1]!).sort();
}

function newClient(name: string): ReconnectingClient {
  const endpoint = { host: "127.0.0.1", port: redis.port };
  const options = { endpoint, login: {}, database: 0, name: `jobs:${name}`, replyTimeoutMs: 100_000 };
  return new ReconnectingClient({
    connect: (signal) => Connection.connect(options, signal),
    shown: redis.url,
    waitMs: 5_000,
  });
}

/**
 * Opens a queue watch without the rest of the store.
 *
 * @param looked called with the reply of each script, before the watch receives it
 */
function openWatch(
  blockS: number,
  channel?: WakeChannel,
  looked = (closed: unknown) => Promise.resolve(closed),
): { watch: QueueWatch } & AsyncDisposable {
  const clients: ReconnectingClient[] = [];
  const blockingClient = (name: string) => {
    clients.push(newClient(name));
    return clients.at(-1)!;
  };
  const client = blockingClient("commands");
  const run = client.run.bind(client);
  client.run = async (...call) => await looked(await run(...call));
  const shared: Omit<Context, "mover"> = {
    client,
    subscriptions: client,
    blockingClient,
    offset: () => "0",
    waitMs: 5_000,
    wire: 7,
    deadLimits: ["1", "1"],
    hasSentinel: false,
  };
  const context: Context = { ...shared, mover: new Mover(shared) };
  const watch = new QueueWatch(context, channel ?? new WakeChannel(client), blockS);
  return {
    watch,
    async [Symbol.asyncDispose]() {
      watch.close();
      for (const client of clients) await client.close();
    },
  };
}

/** Returns how many times a command was called since the test began. */
async function calls(command: string): Promise<number> {
  const stats = await redis.cli("INFO", "commandstats");
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
}

Deno.test("redis: a watch of work resolves on a push by another program, and leaves the job in its queue", async () => {
  await using store = await openEmpty();
  await woken((signal) => store.watch({ work: ["mail", "default"] }, signal), async () => {
    await until(async () => (await connections()).length === 4);
    await redis.cli("LPUSH", "queue:mail", job(1, { queue: "mail" }).payload);
  });
  assertEquals((await takeUpTo(store, "host:1:aaaaaaaaaaaa", 10, ["mail"])).map(({ payload }) => payload), [
    job(1, { queue: "mail" }).payload,
  ]);
});

Deno.test("redis: a watch of work resolves at once if a queue has a job", async () => {
  await using store = await openEmpty();
  await store.jobs.enqueue([job(1)]);
  await woken((signal) => store.watch({ work: ["default"] }, signal), () => Promise.resolve());
});

Deno.test("redis: a watch of work uses one connection per queue for all waiters, closed with the store", async () => {
  const store = await openEmpty();
  const patience = new AbortController();
  const waits = [["a", "b"], ["b", "a"], ["b"]].map((queues) => store.watch({ work: queues }, patience.signal));
  await until(async () => (await connections()).length === 4);
  patience.abort();
  await Promise.all(waits);
  const again = new AbortController();
  const wait = store.watch({ work: ["a", "b"] }, again.signal);
  await redis.cli("LPUSH", "queue:a", "{}");
  await wait;
  assertEquals(await connections(), ["jobs:commands", "jobs:queue", "jobs:queue", "jobs:subscriptions"]);
  await store[Symbol.asyncDispose]();
  await until(async () => (await connections()).length === 0);
});

Deno.test("redis: consecutive watches of work share one blocked command", async () => {
  await using store = await openEmpty();
  for (let i = 0; i < 20; i++) {
    const patience = new AbortController();
    const wait = store.watch({ work: ["default"] }, patience.signal);
    await store.admin.stats();
    patience.abort();
    await wait;
  }
  assert(await calls("blmove") <= 1);
});

Deno.test("redis: a queue's connection without waiters is closed", async () => {
  await using watched = openWatch(0.05);
  const patience = new AbortController();
  const wait = watched.watch.wait({ work: ["default"] }, patience.signal);
  await until(async () => (await connections()).length === 2);
  patience.abort();
  await wait;
  await until(async () => (await connections()).length === 1);
});

Deno.test("redis: a wait soon after another reuses its connection, and resolves on a push", async () => {
  await using watched = openWatch(60);
  for (let i = 0; i < 3; i++) {
    await woken((signal) => watched.watch.wait({ work: ["default"] }, signal), async () => {
      await redis.cli("LPUSH", "queue:default", "{}");
    });
    await redis.cli("DEL", "queue:default");
  }
  assertEquals((await connections()).length, 2);
});

Deno.test("redis: a watch of work doesn't miss a resume that is announced while it reads the state of the queue", async () => {
  await using store = await openEmpty();
  await store.jobs.enqueue([job(1)]);
  await store.admin.configure("default", { pause: true });
  const client = newClient("commands");
  /** A channel whose waits never time out. */
  const channel = new class extends WakeChannel {
    override wait(topic: Topic, signal: AbortSignal, _ms: number, since?: number): Promise<void> {
      return super.wait(topic, signal, 3_600_000, since);
    }
  }(client);
  const patience = new AbortController();
  const listening = channel.wait("queues", patience.signal, 0);
  await until(async () => (await redis.cli("PUBSUB", "NUMSUB", "jobs:wake")).endsWith("1"), "the store is subscribed");
  await using watched = openWatch(60, channel, async (reply) => {
    const before = channel.count("queues");
    await store.admin.configure("default", { pause: false });
    await until(() => channel.count("queues") > before);
    return reply;
  });
  await woken((signal) => watched.watch.wait({ work: ["default"] }, signal), () => Promise.resolve());
  patience.abort();
  await listening;
  await client.close();
});

Deno.test("redis: an aborted attempt to connect leaves no socket and no timer", async () => {
  const options = {
    endpoint: { host: "127.0.0.1", port: redis.port },
    login: {},
    database: 0,
    name: "x",
    replyTimeoutMs: 5_000,
  };
  await assertRejects(() => Connection.connect(options, AbortSignal.abort()), ConnectionLost);
});

Deno.test("redis: a watch of work ignores the jobs of a paused queue, and resolves on its resume", async () => {
  await using store = await openEmpty();
  await store.jobs.enqueue([job(1)]);
  await store.admin.configure("default", { pause: true });
  const begun = performance.now();
  await woken((signal) => store.watch({ work: ["default"] }, signal), async () => {
    for (let i = 0; i < 20; i++) await redis.cli("PING");
    assertEquals(await calls("blmove"), 0);
    // One look to begin with, then one every 500 ms for closed queues and one every 2 s for groups.
    assert(await calls("smismember") <= 1 + (performance.now() - begun) / 400);
    await store.admin.configure("default", { pause: false });
  });
});

Deno.test("redis: a watch of work resolves on a push to a queue listed after a paused one", async () => {
  await using store = await openEmpty();
  await store.jobs.enqueue([job(1)]);
  await store.admin.configure("default", { pause: true });
  await woken((signal) => store.watch({ work: ["default", "mail"] }, signal), async () => {
    await until(async () => (await connections()).includes("jobs:queue"));
    await store.jobs.enqueue([job(2, { queue: "mail" })]);
  });
});

Deno.test("redis: a watch of due jobs resolves on an earlier due time of another client, not on a later one", async () => {
  await using store = await openEmpty();
  const other = await openStore(redis.url);
  await store.jobs.enqueue([job(1, { delayMs: 3_600_000 })]);
  await store.jobs.promote(10);
  let isResolved = false;
  await woken((signal) => store.watch("due", signal).then(() => isResolved = true), async () => {
    await other.jobs.enqueue([job(2, { delayMs: 7_200_000 })]);
    await other.admin.stats();
    assertEquals(isResolved, false);
    await other.jobs.enqueue([job(3, { delayMs: 60_000 })]);
  });
  await other[Symbol.asyncDispose]();
});

Deno.test("redis: a watch of due jobs resolves on a job that was scheduled after the last promote", async () => {
  await using store = await openEmpty();
  await store.jobs.promote(10);
  await store.jobs.enqueue([job(1, { delayMs: 60_000 })]);
  await woken((signal) => store.watch("due", signal), () => Promise.resolve());
});

Deno.test("redis: a watch of due jobs resolves on a job that Sidekiq's client scheduled", async () => {
  await using store = await openEmpty();
  await store.jobs.promote(10);
  await woken((signal) => store.watch("due", signal), async () => {
    await redis.cli("ZADD", "schedule", "1700000000.5", job(1).payload);
  });
});

Deno.test("redis: an idle watch of due jobs polls at most once a second", async () => {
  await using store = await openEmpty();
  const patience = new AbortController();
  const begun = performance.now();
  const wait = store.watch("due", patience.signal);
  for (let i = 0; i < 20; i++) await redis.cli("PING");
  patience.abort();
  await wait;
  // Each poll reads two sets.
  const polls = await calls("zrange") / 2;
  assert(polls <= 1 + (performance.now() - begun) / 1_000, `${polls}`);
});

Deno.test("redis: the wake channel announces a due time only if it is earlier than all others", async () => {
  await using store = await openEmpty();
  const options = {
    endpoint: { host: "127.0.0.1", port: redis.port },
    login: {},
    database: 0,
    name: "x",
    replyTimeoutMs: 5_000,
  };
  const listener = await Connection.connect(options, new AbortController().signal);
  const messages: string[] = [];
  await listener.subscribe("jobs:wake", (message) => messages.push(message));
  await store.workers.heartbeat(workerRecord("host:1:aaaaaaaaaaaa"), TTL_MS);
  await store.jobs.enqueue([job(1, { delayMs: 60_000 }), job(9)]);
  await store.jobs.enqueue([job(2, { delayMs: 90_000 })]);
  const [lease] = await takeUpTo(store, "host:1:aaaaaaaaaaaa", 1);
  await store.jobs.settle("host:1:aaaaaaaaaaaa", [{
    kind: "snooze",
    delayMs: 1_000,
    token: lease!.token,
    payload: "{}",
  }]);
  await store.admin.configure("default", { pause: false });
  await until(() => messages.includes("resume"));
  assertEquals(messages, ["due", "due", "resume"]);
  listener.destroy();
});

Deno.test("redis: ended jobs of a limited queue wake only the waiters for that queue", async () => {
  await using store = await openEmpty();
  const other = await openStore(redis.url);
  const worker = "host:1:aaaaaaaaaaaa";
  await other.workers.heartbeat(workerRecord(worker), TTL_MS);
  await other.admin.configure("default", { limit: { running: 100 } });
  await other.jobs.enqueue(Array.from({ length: 50 }, (_, i) => job(i + 1)));
  const leases = await takeUpTo(other, worker, 50);
  const patience = new AbortController();
  await store.cron.survey([]);
  const begun = performance.now();
  const before = await calls("zrange") + await calls("get");
  const waits = [store.watch("due", patience.signal), store.watch("cron", patience.signal)];
  await until(async () => (await redis.cli("PUBSUB", "NUMSUB", "jobs:wake")).endsWith("1"), "the store is subscribed");
  for (const { token } of leases) await other.jobs.settle(worker, [{ kind: "ack", token }]);
  const looks = await calls("zrange") + await calls("get") - before;
  assert(looks <= 5 + 3 * (performance.now() - begun) / 1_000, `${looks}`);
  patience.abort();
  await Promise.all(waits);
  await other[Symbol.asyncDispose]();
});

Deno.test("redis: receive returns Sidekiq's signals and the store's commands at once, on one connection", async () => {
  await using store = await openEmpty();
  const worker = "host:1:aaaaaaaaaaaa";
  await store.workers.heartbeat(workerRecord(worker), TTL_MS);
  const signal = await woken((signal) => receiveCommands(store, worker, signal), async () => {
    await until(async () => (await connections()).length === 2);
    await redis.cli("LPUSH", `${worker}-signals`, "TSTP");
  });
  assertEquals(signal, [{ verb: "quiet" }]);
  const ours = await woken((signal) => receiveCommands(store, worker, signal), async () => {
    assertEquals(await store.workers.send(worker, { id: "1", verb: "cancel", jid: "abc" }), true);
  });
  assertEquals(ours, [{ id: "1", verb: "cancel", jid: "abc" }]);
  await until(async () => (await connections()).length === 1);
});

Deno.test("redis: send reaches a Sidekiq process as a signal", async () => {
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
  // The heartbeat's thread opens a second store.
  await using beating = await openStore(redis.url);
  const worker = "host:1:aaaaaaaaaaaa";
  await beating.workers.heartbeat(workerRecord(worker), TTL_MS);
  const patience = new AbortController();
  const waits = [
    main.watch({ work: ["a", "b", "c"] }, patience.signal),
    main.watch("due", patience.signal),
    receiveCommands(main, worker, patience.signal),
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
