/**
 * Pushes jobs in bulk, then performs them with one worker in this process. Prints one line of JSON ({@linkcode LoadResult}).
 *
 *     deno run -A tests/bench/load.ts STORE-URL '{"jobs": 200000, "concurrency": 50}'
 */
import process from "node:process";
import { Client } from "../../src/client/client.ts";
import { defaultSettings } from "../../src/config/settings.ts";
import type { JobContext } from "../../src/handlers/context.ts";
import { Registry } from "../../src/handlers/registry.ts";
import { type LogLevel, openLog } from "../../src/log/log.ts";
import { startServer } from "../../src/server/start.ts";
import type { Store } from "../../src/store/admin/store.ts";
import { openStore } from "../../src/store/open.ts";

/** The feature that the jobs use. Plain jobs have a class and arguments. */
export type Feature = "plain" | "groups" | "priorities" | "batch" | "steps" | "limit" | "unique" | "result";

/** A load. */
export interface Load {
  /** Jobs to push and perform. */
  readonly jobs: number;
  /** Default 10. */
  readonly concurrency?: number;
  /** Bytes of the jobs' text argument. Default: none, and a name and a number instead. */
  readonly bytes?: number;
  /** How long a handler waits, as for a response. Default 0: handlers do nothing. */
  readonly waitMs?: number;
  /** Over this many queues. Default 1. */
  readonly queues?: number;
  /** Jobs that are queued already, in the same queue. Default 0. */
  readonly queued?: number;
  /** Jobs that are scheduled already, for a day later. Default 0. */
  readonly scheduled?: number;
  /** Default: plain. */
  readonly feature?: Feature;
  /** With the feature `groups`: their number. Default 100. */
  readonly groups?: number;
  /** Jobs that are queued already in a group that stays at its limit. Default 0. */
  readonly full?: number;
  /** Takes and settles the jobs without a worker, which is the most that one could reach. Default false. */
  readonly bare?: boolean;
  /** Default: warn, so that nothing is logged. */
  readonly logLevel?: LogLevel;
  readonly logFile?: string;
}

/** The measured figures. */
export interface LoadResult {
  readonly pushPerSecond: number;
  /** From the start of the first job to the stop of the worker, when all are stored. */
  readonly drainPerSecond: number;
  /** Processor time of this process per performed job, in microseconds, without that of Redis. */
  readonly drainCpuMicros: number;
  /**
   * With `waitMs`: the share of their time that the processors spent in handlers, which is the share of what their number and the
   * handlers' latency allow. The handlers measure their latency: a timer of 5 ms takes up to 6.
   */
  readonly busyShare?: number;
  /** Jobs that were performed but not counted, or are still running. 0 unless something is wrong. */
  readonly wrong: number;
}

const PRIORITIES = ["high", "normal", "low"] as const;
/** The group that stays at its limit. */
const FULL = "full";
const FULL_SPEED = 10_000;
const DAY_MS = 86_400_000;

/** Pushes jobs that the measured ones are next to, without a list of them in memory. */
async function fill(
  client: Client,
  count: number,
  options: { readonly in?: number; readonly group?: string },
): Promise<void> {
  const each = function* () {
    for (let i = 0; i < count; i++) yield { class: "Noop", args: ["bob", i], ...options };
  };
  for await (const { refused } of client.pushMany(each())) if (refused !== undefined) throw new Error(refused);
}

/** Pushes the jobs. Returns the milliseconds that took. */
async function push(store: Store, load: Load): Promise<number> {
  const { jobs, bytes, queues = 1, queued = 0, scheduled = 0, feature, groups = 100, full = 0 } = load;
  const client = new Client({ store, onUnregistered: () => {} });
  const text = "x".repeat(bytes ?? 0);
  const args = (count: number) => Array.from({ length: count }, (_, i) => bytes === undefined ? ["bob", i] : [text]);
  if (feature === "limit") await store.admin.configure("default", { limit: { running: FULL_SPEED } });
  await fill(client, queued, {});
  await fill(client, scheduled, { in: DAY_MS / 1_000 });
  if (full > 0) {
    await store.admin.configure("default", { group: FULL, limit: { running: 1 } });
    await fill(client, full, { group: FULL });
  }
  const start = performance.now();
  if (feature === "batch") {
    await client.batch({ name: "bench", success: { class: "Noop", args: [] } }, async (add) => {
      for (let i = 0; i < jobs; i++) await add("Noop", ["bob", i]);
    });
  } else if (feature === "groups" || feature === "priorities" || feature === "unique") {
    const option = {
      groups: (i: number) => ({ group: `g${i % groups}` }),
      priorities: (i: number) => ({ priority: PRIORITIES[i % PRIORITIES.length]! }),
      unique: () => ({ unique_for: "1h" }),
    }[feature];
    const each = function* () {
      for (let i = 0; i < jobs; i++) yield { class: "Noop", args: ["bob", i], ...option(i) };
    };
    for await (const { refused } of client.pushMany(each())) if (refused !== undefined) throw new Error(refused);
  } else if (queues > 1) {
    const each = function* () {
      for (let i = 0; i < jobs; i++) yield { class: "Noop", args: ["bob", i], queue: queueName(i % queues) };
    };
    for await (const { refused } of client.pushMany(each())) if (refused !== undefined) throw new Error(refused);
  } else {
    const options = feature === "result" ? { result_ttl: 3_600 } : {};
    await client.pushBulk({ class: "Noop", args: args(jobs), ...options });
  }
  return performance.now() - start;
}

/** The milliseconds that a drain took, its processor time, and the time that handlers waited. */
interface Drained {
  readonly ms: number;
  readonly cpuMs: number;
  readonly waitedMs?: number;
}

/** Performs the jobs. */
async function drain(url: string, load: Load): Promise<Drained> {
  const { concurrency = 10, waitMs = 0, queues = 1, feature } = load;
  const done = Promise.withResolvers<void>();
  let left = load.jobs;
  let start: number | undefined;
  let waitedMs = 0;
  const count = () => {
    start ??= performance.now() - waitMs;
    if (--left === 0) done.resolve();
  };
  const handler = waitMs > 0
    ? async () => {
      const begun = performance.now();
      await new Promise<void>((resolve) => setTimeout(resolve, waitMs));
      waitedMs += performance.now() - begun;
      count();
    }
    : feature === "steps"
    ? (context: JobContext) => context.step("only", () => 1).then(count)
    : feature === "result"
    ? () => (count(), 1)
    : load.full
    ? ({ payload }: JobContext) => payload["group"] === FULL ? done.promise : count()
    : count;
  const registry = new Registry().add("Noop", handler);
  const names = queues > 1
    ? { queues: Array.from({ length: queues }, (_, i) => ({ name: queueName(i), weight: 1 })) }
    : {};
  const cpu = process.cpuUsage();
  const settings = { ...defaultSettings(), concurrency, ...names };
  const server = await startServer({ log: false, store: url, registry, settings });
  await done.promise;
  await server.stop();
  const ms = performance.now() - start!;
  const { user, system } = process.cpuUsage(cpu);
  return { ms, cpuMs: (user + system) / 1_000, waitedMs };
}

/** Takes and settles the jobs, with two takes of 100 in flight. Returns the same. */
async function drainBare(store: Store): Promise<Drained> {
  const worker = "bench:1:000000000000";
  const loop = async () => {
    for (;;) {
      const leases = await store.jobs.take({ queues: ["default"], limit: 100, worker });
      if (leases.length === 0) return;
      await store.jobs.settle(worker, leases.map(({ token }) => ({ kind: "ack", token })));
    }
  };
  const cpu = process.cpuUsage();
  const start = performance.now();
  await Promise.all([loop(), loop()]);
  const ms = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  return { ms, cpuMs: (user + system) / 1_000 };
}

const queueName = (i: number) => `q${i}`;

/** Pushes and performs the jobs of a load. */
export async function runLoad(url: string, load: Load): Promise<LoadResult> {
  const { jobs, logLevel = "warn", logFile, concurrency = 10 } = load;
  using _log = openLog({ level: logLevel, file: logFile });
  await using store = await openStore(url);
  const before = (await store.admin.stats()).processed;
  const pushMs = await push(store, load);
  const { ms, cpuMs, waitedMs = 0 }: Drained = load.bare ? await drainBare(store) : await drain(url, load);
  const { processed, running } = await store.admin.stats();
  return {
    pushPerSecond: Math.round(jobs / pushMs * 1_000),
    drainPerSecond: Math.round(jobs / ms * 1_000),
    drainCpuMicros: Math.round(cpuMs * 10_000 / jobs) / 10,
    ...(waitedMs > 0 && { busyShare: waitedMs / ms / concurrency }),
    wrong: Math.max(0, jobs - (processed - before)) + running,
  };
}

if (import.meta.main) {
  const [url, text = "{}"] = Deno.args;
  console.log(JSON.stringify(await runLoad(url!, { jobs: 200_000, ...JSON.parse(text) })));
}
