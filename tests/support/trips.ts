/**
 * A usual case of each verb, for counting its round trips.
 *
 * @module
 */
import { RUN_BOUNDS_MS } from "../../src/store/port/metrics.ts";
import { assert, assertEquals } from "@std/assert";
import type { Store } from "../../src/store/admin/store.ts";
import type { Batch } from "../../src/store/port/batches.ts";
import type { StepLease } from "../../src/store/port/steps.ts";
import { create as createFlow, ID as FLOW, nodesOf, start as startFlow } from "../store_contract/flow_nodes.ts";
import type { OpenTestStore, TestStore } from "../store_contract/harness.ts";
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
} from "../store_contract/jobs.ts";
import type { TcpProxy } from "./tcp_proxy.ts";

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

/** The cases by verb. */
export const USUAL_CASES: Readonly<Record<string, Given>> = {
  "jobs.enqueue": (store) => () => store.jobs.enqueue(jobs(1, 10)),
  "jobs.take": async (store) => {
    await register(store);
    await queued(store);
    return () => takeUpTo(store, WORKER, 10);
  },
  "jobs.settle": async (store) => {
    const { token } = await leased(store);
    return () => store.jobs.settle(WORKER, [{ kind: "ack", token }]);
  },
  "jobs.stillLeased": async (store) => {
    const { token } = await leased(store);
    return () => store.jobs.stillLeased(WORKER, [token]);
  },
  "jobs.promote": async (store) => {
    await store.transfer.put("job", [{ ref: "", place: { in: "scheduled" }, payload: job(1).payload, at: 1 }], "m");
    return () => store.jobs.promote(100);
  },
  "jobs.rescue": async (store, t) => {
    await leased(store);
    await lapse(t);
    return async () => assertEquals((await rescueFor(store)).rescued, 1);
  },
  "jobs.hasQueuedJobs": (store) => () => store.jobs.hasQueuedJobs(["default"]),
  "jobs.find": async (store) => {
    await leased(store);
    await queued(store);
    return () => store.jobs.find([jid(1)]);
  },
  "jobs.edit": async (store) => {
    const refs = await queued(store);
    return () => store.jobs.edit(refs, "delete");
  },
  "workers.heartbeat": (store) => () => store.workers.heartbeat(workerRecord(WORKER), TTL_MS),
  "workers.deregister": async (store) => {
    await leased(store);
    return () => store.workers.deregister(WORKER);
  },
  "workers.list": async (store) => {
    await register(store);
    return () => store.workers.list();
  },
  "workers.note": async (store) => {
    const { token } = await leased(store);
    return () => store.workers.note(WORKER, { running: { tokens: [token], alone: true } });
  },
  "workers.claim": (store) => () => store.workers.claim("name", WORKER, TTL_MS),
  "workers.send": async (store) => {
    await register(store);
    return () => store.workers.send(WORKER, { id: "c", verb: "quiet" });
  },
  "workers.collect": async (store) => {
    await register(store);
    await store.workers.send(WORKER, { id: "c", verb: "quiet" });
    return () => store.workers.collect({ commandsTo: WORKER });
  },
  "cron.read": (store) => () => store.cron.read(["e"]),
  "cron.page": (store) => () => store.cron.page(),
  "cron.survey": (store) => () => store.cron.survey([]),
  "cron.claim": (store) => () => store.cron.claim(1),
  "cron.replan": (store) => () => store.cron.replan(),
  "cron.write": (store) => () =>
    store.cron.write([{
      ...{ name: "e", version: 0, definition: "{}", state: "{}", jobs: [job(1)], awaited: false, records: ["r"] },
    }]),
  "logs.add": (store) => () => store.logs.add("audit", "text"),
  "logs.page": async (store) => {
    await store.logs.add("audit", "text");
    return () => store.logs.page("audit");
  },
  "series.add": (store) => () => store.series.add("queues", [{ queue: "default", size: 1, latencyMs: 1 }]),
  "series.read": async (store) => {
    const measured = {
      class: "A",
      processed: 1,
      failed: 0,
      workedMs: 1,
      histogram: [...RUN_BOUNDS_MS, Infinity].map(() => 0),
    };
    await store.series.add("classes", [measured]);
    return () => store.series.read("classes", "1h");
  },
  "steps.read": (store) => () => store.steps.read(jid(1)),
  "steps.remember": async (store) => {
    const lease = await leased(store);
    return () => store.steps.remember(lease, { name: "s", record: `{"state":"succeeded","since":1}` });
  },
  "steps.wait": async (store) => {
    const lease = await leased(store);
    return () => store.steps.wait(lease, { name: "w", about: `"kind":"wait","key":"k"`, forMs: HOUR_MS, key: "k" });
  },
  "steps.signal": async (store) => {
    const lease = await leased(store);
    await store.steps.wait(lease, { name: "w", about: `"kind":"wait","key":"k"`, forMs: HOUR_MS, key: "k" });
    return () => store.steps.signal({ key: "k", data: "1", ttlMs: HOUR_MS });
  },
  "steps.waits": (store) => () => store.steps.waits({ limit: 10 }),
  "steps.clear": async (store) => {
    const lease = await leased(store);
    await store.steps.remember(lease, { name: "s", record: `{"state":"succeeded","since":1}` });
    return () => store.steps.clear(jid(1));
  },
  "streams.append": async (store) => {
    const lease = await leased(store);
    return () => store.streams.append(lease, { attempt: 1, from: 0, chunks: ["1"] });
  },
  "streams.read": async (store) => {
    const lease = await leased(store);
    await store.streams.append(lease, { attempt: 1, from: 0, chunks: ["1"] });
    return () => store.streams.read(lease.jid, 0);
  },
  "batches.create": (store) => () => opened(store),
  "batches.read": async (store) => {
    await opened(store);
    return () => store.batches.read();
  },
  "batches.close": async (store) => {
    await opened(store);
    return () => store.batches.close("b", "closed");
  },
  "batches.admit": async (store) => {
    const lease = await leased(store);
    await opened(store);
    return () => store.batches.admit(lease, "b");
  },
  "batches.count": async (store) => {
    await opened(store);
    return () => store.batches.count("b");
  },
  "batches.correct": async (store) => {
    await opened(store);
    const { batches: [{ version }] } = await store.batches.read({ ids: ["b"] }) as { batches: [Batch] };
    return () => store.batches.correct("b", { pending: 1, dead: 0, version });
  },
  "batches.tend": (store) => () => store.batches.tend(100),
  "flows.add": async (store) => {
    await createFlow(store);
    return () => store.flows.add(FLOW, nodesOf({ a: {}, b: { after: ["a"] } }));
  },
  "flows.nodes": async (store) => {
    await startFlow(store, { a: {}, b: { after: ["a"] } });
    return () => store.flows.nodes(FLOW);
  },
  "results.read": async (store) => {
    const { token } = await leased(store);
    await store.jobs.settle(WORKER, [{ kind: "ack", token, record: { jid: jid(1), ttlMs: HOUR_MS, body: "{}" } }]);
    return () => store.results.read({ jids: [jid(1)] });
  },
  "classes.declare": (store) => () => store.classes.declare([{ name: "A", options: "{}" }]),
  "classes.read": (store) => () => store.classes.read(),
  "classes.declarations": (store) => () => store.classes.declarations(),
  "webhooks.declare": (store) => () => store.webhooks.declare([{ name: "a", on: ["dead"] }]),
  "webhooks.read": (store) => () => store.webhooks.read(),
  "events.keep": (store) => () => store.events.keep(HOUR_MS),
  "events.last": (store) => () => store.events.last(),
  "events.read": async (store) => {
    await store.events.keep(HOUR_MS);
    const { worker, token } = await leased(store);
    await store.jobs.settle(worker, [{ kind: "ack", token }]);
    return () => store.events.read(0);
  },
  "admin.stats": async (store) => {
    await queued(store);
    return () => store.admin.stats();
  },
  "admin.health": async (store) => {
    await queued(store);
    return () => store.admin.health();
  },
  "admin.page": async (store) => {
    await queued(store);
    return () => store.admin.page(QUEUE);
  },
  "admin.get": async (store) => {
    const refs = await queued(store);
    return () => store.admin.get(refs);
  },
  "admin.configure": (store) => () => store.admin.configure("default", { limit: { running: 1 } }),
  "admin.groups": async (store) => {
    await store.jobs.enqueue([job(1, { group: "g", payload: job(1).payload.replace("{", `{"group":"g",`) })]);
    return () => store.admin.groups("default");
  },
  "sessions.key": (store) => () => store.sessions.key(),
  "sessions.keep": (store) => () =>
    store.sessions.keep({ user: "ann", id: "s", expiresAt: Date.now() + HOUR_MS, ttlMs: HOUR_MS }),
  "sessions.isLive": (store) => () => store.sessions.isLive("ann", "s"),
  "transfer.mark": async (store) => {
    const refs = await queued(store);
    return () => store.transfer.mark(refs);
  },
  "transfer.read": async (store) => {
    const refs = await queued(store);
    return () => store.transfer.read("job", { ids: refs });
  },
  "transfer.put": (store) => () => store.transfer.put("job", [{ ref: "", place: QUEUE, payload: job(1).payload }], "m"),
  "transfer.drop": async (store) => {
    const { id, refs } = (await store.transfer.mark(await queued(store)))!;
    const { rows } = await store.transfer.read("job", { ids: refs });
    return () => store.transfer.drop("job", rows, id);
  },
};

/**
 * Asserts that each verb takes no more round trips than its bound.
 *
 * @param trips the bounds by verb
 * @param proxy the line to the server
 */
export async function assertTrips(
  trips: Readonly<Record<string, number>>,
  open: OpenTestStore,
  proxy: TcpProxy,
): Promise<void> {
  assertEquals(Object.keys(trips).sort(), Object.keys(USUAL_CASES).sort());
  const over: string[] = [];
  for (const [verb, most] of Object.entries(trips)) {
    await using t = await open();
    const call = await USUAL_CASES[verb]!(t.store, t);
    const before = proxy.trips;
    await call();
    const taken = proxy.trips - before;
    assert(taken > 0, `${verb} is sent`);
    if (taken > most) over.push(`${verb} took ${taken} round trips, expected at most ${most}`);
  }
  assertEquals(over, []);
}
