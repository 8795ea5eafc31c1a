/**
 * The verbs that write, each on the prepared store. Names are `PART.VERB` and what it meets there.
 *
 * @module
 */
import type { Store } from "../../src/store/admin/store.ts";
import type { ServerStore } from "../../src/store/port/store.ts";
import type { Outcome } from "../../src/store/port/outcomes.ts";
import { ending, ID as FLOW, nodesOf } from "../store_contract/flow_nodes.ts";
import { HOUR_MS, RESCUER, TTL_MS, workerRecord } from "../store_contract/jobs.ts";
import { DAY_MS, debounced, ended, job, member, OFFLINE, replacing, stepLease, WORKER, type World } from "./world.ts";

/** A verb. */
export interface Verb {
  run(store: Store, world: World): Promise<unknown>;
  /**
   * Workers repeat it: it may leave out what another transaction holds. After both verbs, it runs once more, and its results don't
   * count.
   */
  readonly isRepeated?: true;
}

const push = (jobs: Parameters<ServerStore["jobs"]["enqueue"]>[0]): Verb => ({
  run: (store) => store.jobs.enqueue(jobs),
});

const take = (...queues: string[]): Verb => ({
  run: (store) => store.jobs.take({ queues, limit: 100, worker: WORKER }),
  isRepeated: true,
});

/** Ends leases. Like the server, it doesn't know what has happened to the job meanwhile. */
const settle = (
  jids: readonly string[],
  outcome: Partial<Outcome> | ((world: World, jid: string) => object),
): Verb => ({
  run: (store, world) =>
    store.jobs.settle(
      WORKER,
      jids.map((jid) => {
        const { token, payload } = world.leases.get(jid)!;
        const given = typeof outcome === "function" ? outcome(world, jid) : outcome;
        const stored = {
          retry: { payload, delayMs: HOUR_MS },
          snooze: { payload, delayMs: DAY_MS },
          bury: { payload },
        };
        const { kind } = given as Outcome;
        return { token, ...stored[kind as "retry"], ...given } as Outcome;
      }),
    ),
});

const edit = (jid: string, ...how: [Parameters<ServerStore["jobs"]["edit"]>[1], string?]): Verb => ({
  run: (store, world) => store.jobs.edit([world.refs.get(jid)!], ...how),
});

const CANCELLED = (jid: string) => ({ cancel: { jid, ttlMs: HOUR_MS, body: `{"jid":"${jid}","state":"cancelled"}` } });
const record = (jid: string) => ({ jid, ttlMs: HOUR_MS, body: `{"jid":"${jid}"}` });

const cron = (name: string, change: object): Verb => ({
  async run(store, { versions, now }) {
    const base = { name, version: versions.get(name) ?? 0, state: "{}", awaited: false, records: ["r"], jobs: [] };
    const written = await store.cron.write([{ ...base, next: now + HOUR_MS, ...change }]);
    return written.map((version) => version === undefined ? "changed meanwhile" : "written");
  },
});

const wait = (jid: string, name: string, key: string | undefined, child?: string): Verb => ({
  run: (store, world) =>
    store.steps.wait(stepLease(world, jid), {
      ...{ name, forMs: HOUR_MS },
      about: child === undefined ? `"kind":"wait","key":"${key}"` : `"kind":"child","child":"${child}"`,
      ...(key !== undefined && { key }),
      ...(child !== undefined && { child: job(child, "run", { parent: { jid, step: name } }) }),
    }),
});

const signal = (key: string): Verb => ({ run: (store) => store.steps.signal({ key, data: "1", ttlMs: HOUR_MS }) });

const cancelRunning = (jid: string, worker = WORKER): Verb => ({
  run: (store, world) => store.workers.send(worker, { id: "command", verb: "cancel", jid, ref: world.refs.get(jid)! }),
});

const parentOf = (state: "succeeded" | "failed") => ({
  parent: { jid: "parent", step: "c", child: "child", state, outcome: `"value":1` } as const,
});

/** The verbs, by name. */
export const VERBS: Readonly<Record<string, Verb>> = {
  "push plain": push([job("new", "plain")]),
  "push a group": push([job("new", "grouped", { group: "g" })]),
  "push a new group": push([job("new", "grouped", { group: "x" })]),
  "push later": push([{ ...job("new", "plain"), delayMs: HOUR_MS }]),
  "push debounced": push([debounced("new", "debounced", HOUR_MS)]),
  "push debounced due": push([debounced("new", "debounced-due", HOUR_MS)]),
  "push replacing": push([replacing("new", "unique")]),
  "push replacing due": push([replacing("new", "unique-due")]),
  "push replacing until start": push([replacing("new", "until-start", "start")]),
  "push unique": push([{ ...job("new", "plain"), unique: { key: "locked", ttlMs: HOUR_MS } }]),
  "push once": push([{ ...job("new", "plain"), once: { key: "id:1", ttlMs: HOUR_MS } }]),
  "push throttled": push([{ ...job("new", "plain"), throttle: { key: "t", count: 1, perMs: HOUR_MS } }]),
  "push a member": push([member("new", "open", "plain")]),
  "push a member by the last one": {
    run: (store, world) => {
      const { worker, token } = stepLease(world, "last");
      return store.jobs.enqueue([{
        ...member("new", "closed", "plain"),
        batch: { id: "closed", by: { worker, token } },
      }]);
    },
  },
  "take plain": take("plain"),
  "take unique": take("unique"),
  "take grouped": take("grouped"),
  "take limited": take("limited"),
  "ack": settle(["run"], { kind: "ack" }),
  "ack with a record": settle(["run"], (_, jid) => ({ kind: "ack", jid, record: record(jid) })),
  "retry": settle(["run"], { kind: "retry" }),
  "snooze": settle(["run"], { kind: "snooze" }),
  "bury": settle(["run"], { kind: "bury" }),
  "bury another": settle(["locked"], (_, jid) => ({ kind: "bury", jid, unlock: "locked" })),
  "release": settle(["run"], { kind: "release", begun: true }),
  "put aside": settle(["run"], (world, jid) => ({
    ...{ kind: "aside", class: "C", payload: world.leases.get(jid)!.payload, delayMs: HOUR_MS },
  })),
  "ack with steps": settle(["waits"], (_, jid) => ({ kind: "ack", jid, steps: true })),
  "retry with steps": settle(["waits"], (_, jid) => ({ kind: "retry", jid, steps: true })),
  "bury with steps": settle(["waits"], (_, jid) => ({ kind: "bury", jid, steps: true })),
  "sleep": settle(["waits"], (_, jid) => ({ kind: "snooze", jid, steps: true })),
  "ack locked": settle(["locked"], (_, jid) => ({ kind: "ack", jid, unlock: "locked" })),
  "ack the last member": settle(["last"], { kind: "ack", ...ended("closed") }),
  "bury the last member": settle(["last"], { kind: "bury", ...ended("closed", "dead") }),
  "ack a member": settle(["open-0"], { kind: "ack", ...ended("open") }),
  "ack another member": settle(["open-1"], { kind: "ack", ...ended("open") }),
  "ack members": settle(["open-0", "other-0"], (_, jid) => ({ kind: "ack", ...ended(jid.split("-")[0]!) })),
  "ack other members": settle(["other-1", "open-1"], (_, jid) => ({ kind: "ack", ...ended(jid.split("-")[0]!) })),
  "ack an occurrence": settle(["occurrence"], (_, jid) => ({ kind: "ack", jid, occurrence: "skips" })),
  "ack an awaited occurrence": settle(["awaited"], (_, jid) => ({ kind: "ack", jid, occurrence: "awaits" })),
  "ack a child": settle(["child"], { kind: "ack", ...parentOf("succeeded") }),
  "ack a parent": settle(["parent"], (_, jid) => ({ kind: "ack", jid, steps: true })),
  "parent sleeps": settle(["parent"], (_, jid) => ({ kind: "snooze", jid, steps: true })),
  "bury a parent": settle(["parent"], (_, jid) => ({ kind: "bury", jid, steps: true })),
  "ack a stream": settle(["streams"], (_, jid) => ({ kind: "ack", jid, steps: true })),
  "ack a new member": settle(["new-member"], { kind: "ack" }),
  "ack a node": {
    run: (store, world) => store.jobs.settle(WORKER, [ending(nodeLease(world))]),
  },
  "bury a node": {
    run: (store, world) => store.jobs.settle(WORKER, [ending(nodeLease(world), "bury")]),
  },
  "promote": { run: (store) => store.jobs.promote(100), isRepeated: true },
  "rescue": { run: (store) => store.jobs.rescue({ worker: RESCUER, limit: 100, maxRescues: 3 }), isRepeated: true },
  "requeue debounced": edit("debounced", "requeue"),
  "requeue debounced due": edit("debounced-due", "requeue"),
  "requeue a dead job of a group": edit("dead-group", "requeue"),
  "requeue a dead job of an empty queue": edit("dead-empty", "requeue"),
  "requeue a dead member": edit("open-2", "requeue"),
  "requeue a sleeper": edit("sleeper", "requeue"),
  "requeue to a group": edit("late", "requeue", "grouped"),
  "requeue all dead": {
    run: (store) => store.jobs.edit({ in: { in: "dead" }, limit: 100 }, "requeue"),
    isRepeated: true,
  },
  "kill debounced": edit("debounced", "kill"),
  "kill a sleeper": edit("sleeper", "kill"),
  "kill plain": edit("plain-0", "kill"),
  "delete plain": edit("plain-0", "delete"),
  "delete unique": edit("unique", "delete"),
  "delete unique due": edit("unique-due", "delete"),
  "delete a dead member": edit("open-2", "delete"),
  "delete a sleeper": edit("sleeper", "delete"),
  "delete all dead": {
    run: (store) => store.jobs.edit({ in: { in: "dead" }, limit: 100 }, "delete"),
    isRepeated: true,
  },
  "cancel a sleeper": edit("sleeper", CANCELLED("sleeper")),
  "cancel late": edit("late", CANCELLED("late")),
  "cancel running": cancelRunning("run"),
  "cancel a parent": cancelRunning("parent"),
  "cancel lost": cancelRunning("lost-cancel", OFFLINE),
  "heartbeat": { run: (store) => store.workers.heartbeat(workerRecord(WORKER), HOUR_MS) },
  "heartbeat of an offline worker": { run: (store) => store.workers.heartbeat(workerRecord(OFFLINE), TTL_MS) },
  "heartbeat of a new worker": { run: (store) => store.workers.heartbeat(workerRecord("host:9:cccccccccccc"), TTL_MS) },
  "deregister": { run: (store) => store.workers.deregister(WORKER) },
  "deregister an offline worker": { run: (store) => store.workers.deregister(OFFLINE) },
  "note": {
    run: (store, world) =>
      store.workers.note(OFFLINE, { running: { tokens: [world.leases.get("lost")!.token], alone: true } }),
  },
  "claim a name": { run: (store) => store.workers.claim("name", WORKER, TTL_MS) },
  "claim a name, too": { run: (store) => store.workers.claim("name", RESCUER, TTL_MS) },
  "command": { run: (store) => store.workers.send(WORKER, { verb: "quiet" }) },
  "collect": { run: (store) => store.workers.collect({ commandsTo: WORKER }), isRepeated: true },
  "cron skips": cron("skips", {}),
  "cron enqueues": cron("skips", { jobs: [job("next", "plain")] }),
  "cron queues one": cron("skips", { awaited: true }),
  "cron awaited enqueues": cron("awaits", { jobs: [job("next", "plain")] }),
  "cron pauses awaited": cron("awaits", { state: `{"paused":true}`, awaited: true }),
  "cron idle enqueues": cron("idle", { jobs: [job("idle", "plain")] }),
  "cron creates": cron("new", { definition: "{}", shared: true }),
  "cron changes own": cron("own", { definition: "{ }" }),
  "cron claims": {
    run: (store) => store.cron.claim(10),
    isRepeated: true,
  },
  "cron surveys": { run: async (store) => void await store.cron.survey(["own", "skips", "idle"]) },
  "cron replans": { run: (store) => store.cron.replan() },
  "wait for a signal": wait("run", "w", "new"),
  "wait that has passed": wait("waits", "w", "passed"),
  "wait for a child": wait("run", "c", undefined, "run-child"),
  "wait by a stream": wait("streams", "w", "new"),
  "signal a new wait": signal("new"),
  "signal a passed wait": signal("passed"),
  "signal a sleeper": signal("sleeping"),
  "clear a sleeper": { run: (store) => store.steps.clear("sleeper") },
  "clear a parent": { run: (store) => store.steps.clear("parent", ["c"]) },
  "end waits of a sleeper": { run: (store) => store.steps.clear("sleeper", "waits") },
  "end waits of a parent": { run: (store) => store.steps.clear("parent", "waits") },
  "remember": {
    run: (store, world) =>
      store.steps.remember(stepLease(world, "run"), { name: "s", record: `{"state":"succeeded","since":1,"value":1}` }),
  },
  "remember of a parent": {
    run: (store, world) =>
      store.steps.remember(stepLease(world, "parent"), { name: "s", record: `{"state":"succeeded","since":1}` }),
  },
  "append": {
    run: (store, world) => store.streams.append(stepLease(world, "streams"), { attempt: 1, from: 1, chunks: ["2"] }),
  },
  "append to a new stream": {
    run: (store, world) => store.streams.append(stepLease(world, "run"), { attempt: 1, from: 0, chunks: ["1"] }),
  },
  "close as cancelled": { run: (store) => store.batches.close("closed", "cancelled") },
  "close": { run: (store) => store.batches.close("open", "closed") },
  "cancel a batch": { run: (store) => store.batches.close("open", "cancelled") },
  "close the outer batch": { run: (store) => store.batches.close("all", "closed") },
  "close a due batch": { run: (store) => store.batches.close("due", "closed") },
  "push a member of a due batch": push([member("new", "due", "plain")]),
  "open a nested batch": {
    run: (store, world) => {
      const { worker, token } = stepLease(world, "last");
      return store.batches.create({
        ...{ id: "nested", parent: { id: "closed", by: { worker, token } }, callbacks: {} },
        ...{ closeWithinMs: DAY_MS, keepMs: DAY_MS },
      });
    },
  },
  "admit": { run: (store, world) => store.batches.admit(stepLease(world, "new-member"), "open") },
  "admit of a frozen worker": {
    run: (store, world) => store.batches.admit(stepLease(world, "lost-new", OFFLINE), "lost"),
  },
  "correct": {
    async run(store) {
      const { batches: [batch] } = await store.batches.read({ ids: ["open"] });
      return await store.batches.correct("open", { pending: 2, dead: 1, version: batch!.version });
    },
  },
  "tend": { run: (store) => store.batches.tend(100), isRepeated: true },
  "cancel a flow": { run: (store) => store.batches.close(FLOW, "cancelled") },
  "add a node": {
    run: (store) => store.flows.add(FLOW, nodesOf({ a: {}, b: {}, c: {}, d: {}, e: { after: ["a"] } }).slice(4)),
  },
  "limit a group": { run: (store) => store.admin.configure("grouped", { group: "h", limit: { running: 1 } }) },
  "pause a group": { run: (store) => store.admin.configure("grouped", { group: "g", pause: true }) },
  "pause": { run: (store) => store.admin.configure("plain", { pause: true }) },
  "forget an empty queue": { run: (store) => store.admin.configure("empty", { forget: true }) },
  "forget a queue with groups": { run: (store) => store.admin.configure("grouped", { forget: true }) },
  "import": put("job", [{
    ref: "",
    place: { in: "queue", queue: "grouped", group: "g" },
    payload: job("new", "grouped", { group: "g" }).payload,
  }]),
  "import to an empty queue": put("job", [{
    ref: "",
    place: { in: "queue", queue: "empty" },
    payload: job("new", "empty").payload,
  }]),
  "import a sleeper": put("job", [{
    ref: "",
    place: { in: "scheduled" },
    payload: job("waits", "run").payload,
    at: 4e12,
  }]),
  "import steps": put("step", [{
    ...{ jid: "other", receives: true },
    steps: [{ name: "w", record: `{"state":"waiting","until":4000000000000,"since":1,"kind":"wait","key":"new"}` }],
  }]),
  "import a stream": put("stream", [{ jid: "streams", parts: [{ last: 9, run: 1, attempt: 1, body: "[9]" }] }]),
  "import a throttle": put("throttle", [{ key: "t", perMs: HOUR_MS, pushes: [{ jid: "x", agoMs: 1 }] }]),
  "import a key": put("once", [{ key: "id:1", jid: "x", leftMs: HOUR_MS, fingerprint: "" }]),
  "job leaves": {
    run: (store, { departure: { id, rows } }) => store.transfer.drop("job", rows, id),
  },
  "audit": { run: (store) => store.logs.add("audit", "text") },
  "audit, too": { run: (store) => store.logs.add("audit", "text, too") },
  "declare classes": {
    run: (store) => store.classes.declare([{ name: "C", options: "{}" }, { name: "D", options: "{}" }]),
  },
  "declare other classes": {
    run: (store) => store.classes.declare([{ name: "D", options: "{ }" }, { name: "C", options: "{}" }]),
  },
};

function put<Kind extends Parameters<Store["transfer"]["put"]>[0]>(kind: Kind, rows: readonly object[]): Verb {
  return { run: (store) => store.transfer.put(kind, rows as never, "a batch") };
}

function nodeLease(world: World) {
  return [...world.leases.values()].find(({ payload }) => payload.includes(`"flow_node":"a"`))!;
}
