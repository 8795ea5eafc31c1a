/**
 * The round trips of each verb on Redis, counted between the client and the server.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { Store } from "../src/store/admin/store.ts";
import type { Batch } from "../src/store/port/batches.ts";
import type { StepLease } from "../src/store/port/steps.ts";
import { SCRIPTS } from "../src/store/redis/client/scripts.ts";
import { create as createFlow, ID as FLOW, nodesOf, start as startFlow } from "./store_contract/flow_nodes.ts";
import {
  HOUR_MS,
  jid,
  job,
  jobs,
  lapse,
  register,
  rescueFor,
  takeUpTo,
  TTL_MS,
  workerRecord,
} from "./store_contract/jobs.ts";
import type { TestStore } from "./store_contract/harness.ts";
import { verbsInCode } from "./support/port_verbs.ts";
import { startRedis } from "./support/redis.ts";
import { emptyRedisStores } from "./support/redis_stores.ts";
import { TcpProxy } from "./support/tcp_proxy.ts";

/** Prepares a usual case of a verb, and returns the call. */
type Given = (store: Store, t: TestStore) => Promise<() => Promise<unknown>> | (() => Promise<unknown>);

const WORKER = "host:1:aaaaaaaaaaaa";
const QUEUE = { in: "queue", queue: "default" } as const;

/** Takes one job: its lease. */
async function leased(store: Store): Promise<StepLease> {
  await register(store);
  await store.jobs.enqueue([job(1)]);
  const [lease] = await takeUpTo(store, WORKER, 1);
  return { worker: WORKER, token: lease!.token, jid: jid(1) };
}

/** Opens a batch. */
async function opened(store: Store): Promise<string> {
  await store.batches.create({ id: "b", callbacks: {}, closeWithinMs: HOUR_MS, keepMs: HOUR_MS });
  return "b";
}

/** Queues ten jobs: their refs. */
async function queued(store: Store): Promise<string[]> {
  await store.jobs.enqueue(jobs(1, 10));
  return (await store.admin.page(QUEUE)).entries.map(({ ref }) => ref);
}

/** The most round trips of each verb in a usual case. */
const TRIPS: Readonly<Record<string, readonly [most: number, given: Given]>> = {
  "jobs.enqueue": [1, (store) => () => store.jobs.enqueue(jobs(1, 10))],
  "jobs.take": [1, async (store) => {
    await register(store);
    await queued(store);
    return () => takeUpTo(store, WORKER, 10);
  }],
  "jobs.settle": [1, async (store) => {
    const { token } = await leased(store);
    return () => store.jobs.settle(WORKER, [{ kind: "ack", token }]);
  }],
  "jobs.stillLeased": [1, async (store) => {
    const { token } = await leased(store);
    return () => store.jobs.stillLeased(WORKER, [token]);
  }],
  "jobs.promote": [2, async (store) => {
    await store.transfer.put("job", [{ ref: "", place: { in: "scheduled" }, payload: job(1).payload, at: 1 }], "m");
    return () => store.jobs.promote(100);
  }],
  "jobs.rescue": [2, async (store, t) => {
    await leased(store);
    await lapse(t);
    return async () => assertEquals((await rescueFor(store)).rescued, 1);
  }],
  "jobs.hasQueuedJobs": [1, (store) => () => store.jobs.hasQueuedJobs(["default"])],
  "jobs.find": [11, async (store) => {
    await leased(store);
    await queued(store);
    return () => store.jobs.find([jid(1)]);
  }],
  "jobs.edit": [3, async (store) => {
    const refs = await queued(store);
    return () => store.jobs.edit(refs, "delete");
  }],
  "workers.heartbeat": [1, (store) => () => store.workers.heartbeat(workerRecord(WORKER), TTL_MS)],
  "workers.deregister": [1, async (store) => {
    await leased(store);
    return () => store.workers.deregister(WORKER);
  }],
  "workers.list": [2, async (store) => {
    await register(store);
    return () => store.workers.list();
  }],
  "workers.note": [1, async (store) => {
    const { token } = await leased(store);
    return () => store.workers.note(WORKER, { running: { tokens: [token], alone: true } });
  }],
  "workers.claim": [1, (store) => () => store.workers.claim("name", WORKER, TTL_MS)],
  "workers.send": [1, async (store) => {
    await register(store);
    return () => store.workers.send(WORKER, { id: "c", verb: "quiet" });
  }],
  "workers.collect": [2, async (store) => {
    await register(store);
    await store.workers.send(WORKER, { id: "c", verb: "quiet" });
    return () => store.workers.collect({ commandsTo: WORKER });
  }],
  "cron.read": [1, (store) => () => store.cron.read()],
  "cron.write": [1, (store) => () =>
    store.cron.write([{
      ...{ name: "e", version: 0, definition: "{}", state: "{}", jobs: [job(1)], awaited: false, records: ["r"] },
    }])],
  "logs.add": [2, (store) => () => store.logs.add("audit", "text")],
  "logs.page": [1, async (store) => {
    await store.logs.add("audit", "text");
    return () => store.logs.page("audit");
  }],
  "series.add": [2, (store) => () => store.series.add("queues", [{ queue: "default", size: 1, latencyMs: 1 }])],
  "series.read": [10, async (store) => {
    const measured = { class: "A", processed: 1, failed: 0, workedMs: 1, histogram: [1] };
    await store.series.add("classes", [measured]);
    return () => store.series.read("classes", "1h");
  }],
  "steps.read": [1, (store) => () => store.steps.read(jid(1))],
  "steps.remember": [1, async (store) => {
    const lease = await leased(store);
    return () => store.steps.remember(lease, { name: "s", record: `{"state":"succeeded","since":1}` });
  }],
  "steps.wait": [1, async (store) => {
    const lease = await leased(store);
    return () => store.steps.wait(lease, { name: "w", about: `"kind":"wait","key":"k"`, forMs: HOUR_MS, key: "k" });
  }],
  "steps.signal": [1, async (store) => {
    const lease = await leased(store);
    await store.steps.wait(lease, { name: "w", about: `"kind":"wait","key":"k"`, forMs: HOUR_MS, key: "k" });
    return () => store.steps.signal({ key: "k", data: "1", ttlMs: HOUR_MS });
  }],
  "steps.waits": [1, (store) => () => store.steps.waits({ limit: 10 })],
  "steps.clear": [1, async (store) => {
    const lease = await leased(store);
    await store.steps.remember(lease, { name: "s", record: `{"state":"succeeded","since":1}` });
    return () => store.steps.clear(jid(1));
  }],
  "batches.create": [1, (store) => () => opened(store)],
  "batches.read": [1, async (store) => {
    await opened(store);
    return () => store.batches.read();
  }],
  "batches.close": [1, async (store) => {
    await opened(store);
    return () => store.batches.close("b", "closed");
  }],
  "batches.admit": [1, async (store) => {
    const lease = await leased(store);
    await opened(store);
    return () => store.batches.admit(lease, "b");
  }],
  "batches.count": [1, async (store) => {
    await opened(store);
    return () => store.batches.count("b");
  }],
  "batches.correct": [1, async (store) => {
    await opened(store);
    const { batches: [{ version }] } = await store.batches.read({ ids: ["b"] }) as { batches: [Batch] };
    return () => store.batches.correct("b", { pending: 1, dead: 0, version });
  }],
  "batches.tend": [1, (store) => () => store.batches.tend(100)],
  "flows.add": [1, async (store) => {
    await createFlow(store);
    return () => store.flows.add(FLOW, nodesOf({ a: {}, b: { after: ["a"] } }));
  }],
  "flows.nodes": [2, async (store) => {
    await startFlow(store, { a: {}, b: { after: ["a"] } });
    return () => store.flows.nodes(FLOW);
  }],
  "results.read": [1, async (store) => {
    const { token } = await leased(store);
    await store.jobs.settle(WORKER, [{ kind: "ack", token, record: { jid: jid(1), ttlMs: HOUR_MS, body: "{}" } }]);
    return () => store.results.read({ jids: [jid(1)] });
  }],
  "classes.declare": [1, (store) => () => store.classes.declare([{ name: "A", options: "{}" }])],
  "classes.read": [1, (store) => () => store.classes.read()],
  "admin.stats": [1, async (store) => {
    await queued(store);
    return () => store.admin.stats();
  }],
  "admin.health": [2, async (store) => {
    await queued(store);
    return () => store.admin.health();
  }],
  "admin.page": [1, async (store) => {
    await queued(store);
    return () => store.admin.page(QUEUE);
  }],
  "admin.get": [1, async (store) => {
    const refs = await queued(store);
    return () => store.admin.get(refs);
  }],
  "admin.configure": [2, (store) => () => store.admin.configure("default", { limit: { running: 1 } })],
  "admin.groups": [7, async (store) => {
    await store.jobs.enqueue([job(1, { group: "g", payload: job(1).payload.replace("{", `{"group":"g",`) })]);
    return () => store.admin.groups("default");
  }],
  "sessions.key": [2, (store) => () => store.sessions.key()],
  "sessions.keep": [
    1,
    (store) => () => store.sessions.keep({ user: "ann", id: "s", expiresAt: Date.now() + HOUR_MS, ttlMs: HOUR_MS }),
  ],
  "sessions.isLive": [1, (store) => () => store.sessions.isLive("ann", "s")],
  "transfer.mark": [1, async (store) => {
    const refs = await queued(store);
    return () => store.transfer.mark(refs);
  }],
  "transfer.read": [1, async (store) => {
    const refs = await queued(store);
    return () => store.transfer.read("job", { ids: refs });
  }],
  "transfer.put": [
    1,
    (store) => () => store.transfer.put("job", [{ ref: "", place: QUEUE, payload: job(1).payload }], "m"),
  ],
  "transfer.drop": [2, async (store) => {
    const { id, refs } = (await store.transfer.mark(await queued(store)))!;
    const { rows } = await store.transfer.read("job", { ids: refs });
    return () => store.transfer.drop("job", rows, id);
  }],
};

Deno.test("redis: each verb takes a bounded number of round trips", async () => {
  await using redis = await startRedis();
  await using proxy = await TcpProxy.start(redis.port);
  const open = await emptyRedisStores({
    url: `redis://127.0.0.1:${proxy.port}/0`,
    cli: (...args) => redis.cli(...args),
  });
  // A script that the server doesn't have takes another round trip.
  for (const { text } of Object.values(SCRIPTS)) await redis.cli("SCRIPT", "LOAD", text);
  const over: string[] = [];
  for (const [verb, [most, given]] of Object.entries(TRIPS)) {
    await using t = await open();
    const call = await given(t.store, t);
    const before = proxy.trips;
    await call();
    const trips = proxy.trips - before;
    assert(trips > 0, `${verb} is sent`);
    if (trips > most) over.push(`${verb} took ${trips} round trips, expected at most ${most}`);
  }
  assertEquals(over, []);
});

Deno.test("redis: each verb of the port has a bound, and its documentation says if that isn't one round trip", async () => {
  // Redis has no index of the members of batches.
  const verbs = (await verbsInCode()).filter(({ part, verb }) => `${part}.${verb}` !== "admin.members");
  assertEquals(Object.keys(TRIPS).sort(), verbs.map(({ part, verb }) => `${part}.${verb}`).sort());
  const silent = verbs.filter(({ part, verb, doc }) => TRIPS[`${part}.${verb}`]![0] > 1 && !/round\s+trip/.test(doc));
  assertEquals(silent.map(({ part, verb }) => `${part}.${verb}`), []);
});
