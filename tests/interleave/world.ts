/**
 * The prepared store of the explorer: each thing that verbs meet over, once. It is built by verbs, saved, and restored before each run.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { Clock } from "../../src/clock.ts";
import type { Store } from "../../src/store/admin/store.ts";
import type { AnnouncedBatch, JobRow } from "../../src/store/admin/transfer.ts";
import type { Lease, NewJob } from "../../src/store/port/jobs.ts";
import type { Outcome } from "../../src/store/port/outcomes.ts";
import type { StepLease } from "../../src/store/port/steps.ts";
import * as flowNodes from "../store_contract/flow_nodes.ts";
import { HOUR_MS, RESCUER, TTL_MS, workerRecord } from "../store_contract/jobs.ts";

/** The worker that runs the jobs, and is online. */
export const WORKER = "host:1:aaaaaaaaaaaa";
/** A worker that is offline. */
export const OFFLINE = "host:2:bbbbbbbbbbbb";
export const DAY_MS = 24 * HOUR_MS;

/** The prepared store, as verbs name its parts. */
export interface World {
  readonly now: number;
  /** The leases of {@linkcode WORKER} and {@linkcode OFFLINE}, by jid. */
  readonly leases: ReadonlyMap<string, Lease>;
  /** The refs of entries, by jid. */
  readonly refs: ReadonlyMap<string, string>;
  /** The versions of cron entries, by name. */
  readonly versions: ReadonlyMap<string, number>;
  readonly departure: AnnouncedBatch & { readonly rows: readonly JobRow[] };
  /** The number of dead jobs, which is the maximum. */
  readonly dead: number;
}

/** Returns a job. Its jid is its name. */
export function job(name: string, queue: string, fields: Readonly<Record<string, unknown>> = {}): NewJob {
  const { group } = fields as { readonly group?: string };
  const payload = JSON.stringify({
    ...{ class: "C", args: [name], retry: true, queue, jid: name, created_at: 1_700_000_000.125 },
    ...fields,
  });
  return { jid: name, queue, payload, ...(group !== undefined && { group }) };
}

/** Returns a job that replaces the one with the same lock. */
export function replacing(name: string, key: string, until?: "start"): NewJob {
  const fields = { unique_key: key, on_duplicate: "replace", ...(until !== undefined && { unique_until: until }) };
  return { ...job(name, "unique", fields), unique: { key, ttlMs: HOUR_MS, replace: true } };
}

/** Returns a member of a batch. */
export function member(name: string, batch: string, queue = "run", fields: object = {}): NewJob {
  return { ...job(name, queue, { batch, batch_counted: "pending", ...fields }), batch: { id: batch } };
}

/** Returns a debounced job. */
export function debounced(name: string, key: string, waitMs: number): NewJob {
  return { ...job(name, "debounced", { debounce_key: key }), debounce: { key, waitMs } };
}

/** Returns the lease of a job under which its handler writes. */
export function stepLease(world: World, jid: string, worker = WORKER): StepLease {
  return { worker, token: world.leases.get(jid)!.token, jid };
}

/** Returns a change of the mark of a member that has ended. */
export function ended(batch: string, to: "succeeded" | "failed" | "dead" = "succeeded"): Pick<Outcome, "batch"> {
  return { batch: { id: batch, from: "pending", to } };
}

const callbacks = (id: string) => {
  const callback = (event: string) => ({ ...job(`${id}-${event}`, "callbacks"), class: "C" });
  return { success: callback("success"), complete: callback("complete"), death: callback("death") };
};

/** Builds the store. @param clock a clock that this function sets */
export async function buildWorld(store: Store, clock: { at: number } & Pick<Clock, "now">): Promise<World> {
  const now = clock.at;
  const leases = new Map<string, Lease>();
  const enqueue = async (...jobs: NewJob[]) => {
    for (const result of await store.jobs.enqueue(jobs)) assertEquals(result.kind, "stored");
  };
  const take = async (queue: string, worker = WORKER) => {
    for (const lease of await store.jobs.take({ queues: [queue], limit: 100, worker })) {
      leases.set(JSON.parse(lease.payload).jid, lease);
    }
  };
  const settle = async (jid: string, outcome: (lease: Lease) => Outcome) => {
    const { lost } = await store.jobs.settle(WORKER, [outcome(leases.get(jid)!)]);
    assertEquals(lost, []);
    leases.delete(jid);
  };
  const bury = (jid: string) => settle(jid, ({ token, payload }) => ({ kind: "bury", token, payload }));

  // An hour ago: a worker takes jobs, and goes offline.
  clock.at = now - HOUR_MS;
  await store.events.keep(2 * DAY_MS);
  await store.workers.heartbeat(workerRecord(OFFLINE), TTL_MS);
  await store.batches.create({ id: "lost", callbacks: callbacks("lost"), closeWithinMs: DAY_MS, keepMs: DAY_MS });
  await enqueue(job("lost", "lost"), job("lost-new", "lost", { batch: "lost" }), job("lost-cancel", "lost"));
  await take("lost", OFFLINE);
  const rescuerLives = async (until: number) => {
    for (; clock.at < until; clock.at += TTL_MS / 4) await store.workers.heartbeat(workerRecord(RESCUER), TTL_MS);
  };
  clock.at = now - 60_000 - TTL_MS;
  await rescuerLives(now - 60_000);

  // A minute ago: what is due now.
  await store.workers.heartbeat(workerRecord(WORKER), HOUR_MS);
  await enqueue(job("late", "run"), job("again", "run"), job("waits", "run"));
  await take("run");
  await settle("late", ({ token, payload }) => ({ kind: "retry", token, payload, delayMs: 30_000 }));
  await settle("again", ({ token, payload }) => ({ kind: "retry", token, payload, delayMs: DAY_MS }));
  const dead = [0, 1, 2].map((n) => job(`dead-${n}`, "run"));
  await enqueue(job("dead-group", "grouped", { group: "g" }), job("dead-empty", "empty"), ...dead);
  for (const queue of ["run", "grouped", "empty"]) await take(queue);
  for (const name of ["dead-group", "dead-empty", "dead-0", "dead-1", "dead-2"]) await bury(name);
  const waiting = { worker: WORKER, token: leases.get("waits")!.token, jid: "waits" };
  const wait = (key: string, forMs: number) => ({ name: "w", about: `"kind":"wait","key":"${key}"`, forMs, key });
  assert(await store.steps.wait(waiting, wait("passed", 30_000)));
  await enqueue({ ...job("due", "plain"), delayMs: 30_000 });
  await store.batches.create({ id: "due", callbacks: callbacks("due"), closeWithinMs: 30_000, keepMs: DAY_MS });
  await enqueue({ ...replacing("unique-due", "unique-due"), delayMs: 30_000 });
  await enqueue(debounced("debounced-due", "debounced-due", 30_000));

  await rescuerLives(now);
  await enqueue(debounced("debounced", "debounced", HOUR_MS));
  await enqueue(replacing("unique", "unique"), replacing("until-start", "until-start", "start"));
  await enqueue(job("plain-0", "plain"), job("plain-1", "plain"), job("leaving", "plain"));
  await store.admin.configure("limited", { limit: { running: 1 } });
  await enqueue(job("limited-0", "limited"), job("limited-1", "limited"));

  // Batches: `all` has the closed batch `closed`, whose last member runs. `open` has two members that run, and a dead one.
  const create = (id: string, more: object = {}) =>
    store.batches.create({ id, callbacks: callbacks(id), closeWithinMs: DAY_MS, keepMs: DAY_MS, ...more });
  await create("all");
  await create("closed", { parent: { id: "all" } });
  await create("open");
  await create("other");
  await enqueue(member("last", "closed"), member("open-0", "open"), member("open-1", "open"), member("open-2", "open"));
  await enqueue(member("other-0", "other"), member("other-1", "other"));
  await store.batches.close("closed", "closed");

  // Cron: `skips` and `awaits` have a job that runs, `idle` is due.
  const entry = { version: 0, definition: "{}", shared: true, state: "{}", awaited: false, records: [] };
  await store.cron.write([
    { ...entry, name: "skips", jobs: [job("occurrence", "run")], next: now + HOUR_MS },
    { ...entry, name: "awaits", awaited: true, jobs: [job("awaited", "run")], next: now + HOUR_MS },
    { ...entry, name: "idle", jobs: [], next: now - 1_000 },
    { ...entry, name: "own", shared: false, jobs: [] },
  ]);
  const { entries } = await store.cron.read(["skips", "awaits", "idle", "own"]);

  // Jobs that run.
  const running = ["run", "streams", "new-member", "parent", "sleeper", "cancelled"];
  await enqueue(...running.map((name) => job(name, "run", name === "new-member" ? { batch: "open" } : {})));
  await enqueue({ ...job("locked", "run", { unique_key: "locked" }), unique: { key: "locked", ttlMs: HOUR_MS } });
  await take("run");
  await store.streams.append({ worker: WORKER, token: leases.get("streams")!.token, jid: "streams" }, {
    ...{ attempt: 1, from: 0, chunks: ["1"] },
  });
  const parent = { worker: WORKER, token: leases.get("parent")!.token, jid: "parent" };
  const child = job("child", "run", { parent: { jid: "parent", step: "c" } });
  assert(await store.steps.wait(parent, { name: "c", about: `"kind":"child","child":"child"`, forMs: DAY_MS, child }));
  await take("run");
  const sleeper = { worker: WORKER, token: leases.get("sleeper")!.token, jid: "sleeper" };
  assert(await store.steps.wait(sleeper, wait("sleeping", DAY_MS)));
  await settle("sleeper", ({ token, payload }) => {
    const marked = payload.replace("{", `{"has_steps":true,`);
    return { kind: "snooze", token, payload: marked, delayMs: DAY_MS, steps: true, jid: "sleeper" };
  });
  await settle("open-2", ({ token, payload }) => ({
    ...{ kind: "bury", token, payload: payload.replace(`"batch_counted":"pending"`, `"batch_counted":"dead"`) },
    ...ended("open", "dead"),
  }));
  await store.jobs.enqueue([job("grouped-0", "grouped", { group: "h" })]);
  await flowNodes.create(store);
  await store.flows.add(flowNodes.ID, flowNodes.nodesOf(flowNodes.DIAMOND));
  await store.batches.close(flowNodes.ID, "closed");
  await take("default");

  const refs = new Map<string, string>();
  for (const place of ["scheduled", "retry", "dead", "running"] as const) {
    for (const { ref, payload } of (await store.admin.page({ in: place }, { limit: 100 })).entries) {
      refs.set(JSON.parse(payload).jid, ref);
    }
  }
  for (const queue of ["plain", "unique", "limited"]) {
    for (const { ref, payload } of (await store.admin.page({ in: "queue", queue }, { limit: 100 })).entries) {
      refs.set(JSON.parse(payload).jid, ref);
    }
  }
  const batch = (await store.transfer.mark([refs.get("leaving")!]))!;
  const { rows } = await store.transfer.read("job", { ids: batch.refs });
  return {
    ...{ now, leases, refs, dead: 6, departure: { ...batch, rows } },
    versions: new Map(entries.map(({ name, version }) => [name, version])),
  };
}
