/**
 * `make bench`: the figures that the project states, measured on this machine in one run. Figures, not tests: nothing here
 * passes or fails.
 *
 *     deno task bench [--rounds 3] [--scale 1] [PART …]
 *
 * Parts: drain, latency, busy, lookup, turns, scheduled, startup, cores, idle, workers, remote, flows, schedules, and those of `loads.ts`.
 * Default: all.
 */
import { parseArgs } from "@std/cli/parse-args";
import { Client } from "../../src/client/client.ts";
import { openStore } from "../../src/store/open.ts";
import { batchKey } from "../../src/store/redis/keys.ts";
import { startRedis } from "../support/redis.ts";
import type { FlowCosts } from "./flows.ts";
import type { LatencyResult } from "./latency.ts";
import type { Load, LoadResult } from "./load.ts";
import type { LookupCosts } from "./lookup.ts";
import { loadTables, printLoads } from "./loads.ts";
import {
  cpuMsOf,
  describeMachine,
  formatNumber,
  formatSpread,
  inTurn,
  printTable,
  ROOT,
  runScript,
  spreadOf,
} from "./measure.ts";
import { openPostgres } from "./postgres.ts";
import type { IdleCosts } from "./remote_idle.ts";
import type { ScheduledResult } from "./scheduled.ts";
import { schedules } from "./schedules.ts";
import type { TurnsResult } from "./turns.ts";
import type { UnderLoadResult } from "./under_load.ts";
import type { WorkersResult } from "./workers.ts";
import { denoCommand } from "../../scripts/deno_command.ts";

const flags = parseArgs(Deno.args, { string: ["rounds", "scale"] }) as unknown as {
  readonly rounds?: string;
  readonly scale?: string;
  readonly _: readonly string[];
};
const rounds = Number(flags.rounds ?? 3);
const scale = Number(flags.scale ?? 1);
/** Other jobs per second. */
const BUSY_RATES = [5_000, 10_000, 20_000];
const folder = await Deno.makeTempDir({ prefix: "jobs-bench-" });

const tables = loadTables(scale);
const parts: Readonly<Record<string, () => Promise<void>>> = {
  drain,
  latency,
  busy,
  lookup,
  turns,
  scheduled,
  startup,
  cores,
  idle,
  workers,
  remote,
  flows,
  schedules: () => schedules(folder, rounds, scale),
  ...Object.fromEntries(
    Object.entries(tables).map(([name, table]) => [name, () => printLoads(table, folder, rounds)]),
  ),
};
try {
  const names = flags._.length > 0 ? flags._ : Object.keys(parts);
  const unknown = names.filter((name) => !Object.hasOwn(parts, name));
  if (unknown.length > 0) {
    console.error(`Unknown part "${unknown[0]}": expected ${Object.keys(parts).join(", ")}`);
    Deno.exit(2);
  }
  console.log(`${await describeMachine()}. Medians of ${rounds} rounds, with the lowest and the highest.\n`);
  for (const name of names) await parts[name]!();
} finally {
  await Deno.remove(folder, { recursive: true });
}

/** Plain jobs at several settings, and what the log costs. */
async function drain(): Promise<void> {
  await using redis = await startRedis();
  await using postgres = await openPostgres();
  let files = 0;
  const jobs = Math.round(200_000 * scale);
  const on = (store: () => string, load: Partial<Load> = {}) => async () => {
    await redis.cli("FLUSHALL");
    return await runScript<LoadResult>("load.ts", store(), JSON.stringify({ jobs, ...load }));
  };
  const sqlite = (durability: string) => () => `sqlite:${folder}/drain-${++files}.db?durability=${durability}`;
  const logged = { logLevel: "info", logFile: `${folder}/log` } as const;
  const results = await inTurn({
    "SQLite": on(sqlite("full")),
    "SQLite, log level info": on(sqlite("full"), logged),
    "SQLite, durability normal": on(sqlite("normal")),
    "Redis": on(() => redis.url),
    "Redis, log level info": on(() => redis.url, logged),
    "Redis, concurrency 50": on(() => redis.url, { concurrency: 50 }),
    "SQLite, take and settle alone": on(sqlite("full"), { bare: true }),
    "Redis, take and settle alone": on(() => redis.url, { bare: true }),
    ...postgres.row((url) => on(() => url)()),
    ...postgres.row((url) => on(() => url, { bare: true })(), "take and settle alone"),
  }, rounds);
  console.log("### No-op jobs, concurrency 10, nothing logged\n");
  printTable(
    ["store", "push/s", "drain/s", "CPU µs per job"],
    Object.entries(results).map(([name, each]) => [
      name,
      formatSpread(spreadOf(each.map((one) => one.pushPerSecond))),
      formatSpread(spreadOf(each.map((one) => one.drainPerSecond))),
      formatNumber(spreadOf(each.map((one) => one.drainCpuMicros)).median),
    ]),
  );
}

/** From a push in one process to the start in another that is idle. */
async function latency(): Promise<void> {
  await using redis = await startRedis();
  await using postgres = await openPostgres();
  const pushes = String(Math.max(100, Math.round(500 * scale)));
  const results = await inTurn({
    "SQLite, full": () => runScript<LatencyResult>("latency.ts", `sqlite:${folder}/latency.db`, pushes),
    "SQLite, normal": () =>
      runScript<LatencyResult>("latency.ts", `sqlite:${folder}/normal.db?durability=normal`, pushes),
    "Redis": () => runScript<LatencyResult>("latency.ts", redis.url, pushes),
    ...postgres.row((url) => runScript<LatencyResult>("latency.ts", url, pushes)),
  }, rounds);
  console.log("### From a push in one process to the start in another that is idle, ms\n");
  printTable(
    ["store, durability", "start p50", "start p99", "push p50", "push p99"],
    Object.entries(results).map(([name, each]) => [
      name,
      formatSpread(spreadOf(each.map(({ start }) => start.p50))),
      formatSpread(spreadOf(each.map(({ start }) => start.p99))),
      formatSpread(spreadOf(each.map(({ push }) => push.p50))),
      formatSpread(spreadOf(each.map(({ push }) => push.p99))),
    ]),
  );
}

/** From a push to the start in a worker that performs thousands of other jobs per second. */
async function busy(): Promise<void> {
  await using redis = await startRedis();
  await using postgres = await openPostgres();
  const samples = String(Math.max(50, Math.round(200 * scale)));
  let files = 0;
  const on = (rate: number) => {
    const run = (url: string) => runScript<UnderLoadResult>("under_load.ts", url, String(rate), samples);
    const others = `${rate.toLocaleString("en")} others/s`;
    return {
      [`SQLite, ${others}`]: () => run(`sqlite:${folder}/busy-${++files}.db`),
      [`Redis, ${others}`]: async () => {
        await redis.cli("FLUSHALL");
        return await run(redis.url);
      },
      ...postgres.row(run, others),
    };
  };
  const results = await inTurn(Object.assign({}, ...BUSY_RATES.map(on)), rounds) as Record<string, UnderLoadResult[]>;
  console.log("### From push to start in a worker that performs other jobs, ms\n");
  console.log("Where it performs fewer per second than are pushed, the plain job waits behind a backlog.\n");
  const kinds = ["plain", "priority", "group"] as const;
  printTable(
    ["store", "performed/s", "CPU µs per job", ...kinds.flatMap((kind) => [`${kind} p50`, "p99"])],
    Object.entries(results).map(([name, each]) => [
      name,
      formatSpread(spreadOf(each.map(({ perSecond }) => perSecond))),
      formatNumber(spreadOf(each.map(({ cpuMicros }) => cpuMicros)).median),
      ...kinds.flatMap((kind) => [
        formatSpread(spreadOf(each.map((one) => one[kind].p50))),
        formatSpread(spreadOf(each.map((one) => one[kind].p99))),
      ]),
    ]),
  );
}

/** How long it takes to find jobs among a million. */
async function lookup(): Promise<void> {
  await using postgres = await openPostgres();
  const count = Math.max(1_000, Math.round(1_000_000 * scale));
  const run = (url: string) => runScript<LookupCosts>("lookup.ts", url, String(count));
  const results = await inTurn({
    "SQLite": () => run(`sqlite:${folder}/lookup-${crypto.randomUUID()}.db`),
    "Redis": async () => {
      await using redis = await startRedis();
      return await run(redis.url);
    },
    ...postgres.row(run),
  }, rounds);
  console.log(`### One of ${count.toLocaleString("en")} queued jobs, ms\n`);
  printTable(
    ["store", "by its jid", "by a text", "by a filter that reads each", "page of 100"],
    Object.entries(results).map(([name, each]) => [
      name,
      ...(["jidMs", "textMs", "filterMs", "pageMs"] as const).map((cost) =>
        formatSpread(spreadOf(each.map((one) => one[cost])))
      ),
    ]),
  );
}

/** From a push to the start of a job whose turn is before a backlog. */
async function turns(): Promise<void> {
  await using redis = await startRedis();
  await using postgres = await openPostgres();
  const backlog = String(Math.max(10_000, Math.round(1_000_000 * scale)));
  let files = 0;
  const results = await inTurn({
    "SQLite": () => runScript<TurnsResult>("turns.ts", `sqlite:${folder}/turns-${++files}.db`, backlog),
    "Redis": async () => {
      await redis.cli("FLUSHALL");
      return await runScript<TurnsResult>("turns.ts", redis.url, backlog);
    },
    ...postgres.row((url) => runScript<TurnsResult>("turns.ts", url, backlog)),
  }, rounds);
  console.log(`### From push to start behind ${Number(backlog).toLocaleString("en")} jobs of one group, ms\n`);
  printTable(
    ["store", "job of another group p50", "p99", "high priority p50", "p99"],
    Object.entries(results).map(([name, each]) => [
      name,
      formatSpread(spreadOf(each.map(({ group }) => group.p50))),
      formatSpread(spreadOf(each.map(({ group }) => group.p99))),
      formatSpread(spreadOf(each.map(({ priority }) => priority.p50))),
      formatSpread(spreadOf(each.map(({ priority }) => priority.p99))),
    ]),
  );
}

/** How late jobs start that are due at a steady rate. */
async function scheduled(): Promise<void> {
  await using redis = await startRedis();
  await using postgres = await openPostgres();
  const jobs = String(Math.max(1_000, Math.round(10_000 * scale)));
  const results = await inTurn({
    "SQLite": () => runScript<ScheduledResult>("scheduled.ts", `sqlite:${folder}/scheduled.db`, jobs),
    "Redis": () => runScript<ScheduledResult>("scheduled.ts", redis.url, jobs),
    ...postgres.row((url) => runScript<ScheduledResult>("scheduled.ts", url, jobs)),
  }, rounds);
  console.log("### Scheduled jobs, 1,000 due per second: how late they start, ms\n");
  printTable(
    ["store", "p50", "p99", "most", "CPU µs per job"],
    Object.entries(results).map(([name, each]) => [
      name,
      formatSpread(spreadOf(each.map(({ p50 }) => p50))),
      formatSpread(spreadOf(each.map(({ p99 }) => p99))),
      formatSpread(spreadOf(each.map(({ max }) => max))),
      formatNumber(spreadOf(each.map(({ cpuMicros }) => cpuMicros)).median),
    ]),
  );
}

async function startup(): Promise<void> {
  const [program, ...args] = denoCommand("run", "--allow-all", "tests/bench/startup.ts");
  await new Deno.Command(program, { args, cwd: ROOT }).spawn().status;
}

/** Jobs that compute, by one process and by two; and isolated processes. */
async function cores(): Promise<void> {
  const { timesAsFast } = await runScript<{ timesAsFast: number }>("processes.ts");
  const { drainPerSecond } = await runScript<{ drainPerSecond: number }>("horses.ts", `sqlite:${folder}/horses.db`);
  console.log(`### Processes\n\nJobs that compute: two processes are ${timesAsFast} times as fast as one.`);
  console.log(`Two isolated processes: ${formatNumber(drainPerSecond)} no-op jobs/s.\n`);
}

/** The steps of flows with many nodes, and the memory of batches. */
async function flows(): Promise<void> {
  await using redis = await startRedis();
  await using postgres = await openPostgres();
  const nodes = Math.min(10_000, Math.max(1_000, Math.round(10_000 * scale)));
  let files = 0;
  const results = await inTurn({
    "SQLite": () => runScript<FlowCosts>("flows.ts", `sqlite:${folder}/flows-${++files}.db`, `${nodes}`),
    "Redis": async () => {
      await redis.cli("FLUSHALL");
      return await runScript<FlowCosts>("flows.ts", redis.url, `${nodes}`);
    },
    ...postgres.row((url) => runScript<FlowCosts>("flows.ts", url, `${nodes}`)),
  }, rounds);
  console.log(`### Flows of ${nodes.toLocaleString("en")} nodes: one settle, ms\n`);
  printTable(
    ["store", "one of many before one", "the last of them", "one before many"],
    Object.entries(results).map(([name, each]) => [
      name,
      ...(["before", "last", "first"] as const).map((cost) => formatSpread(spreadOf(each.map((one) => one[cost])))),
    ]),
  );
  await using store = await openStore(redis.url);
  const client = new Client({ store, onUnregistered: () => {} });
  const bytes: string[][] = [];
  for (const members of [1, 1_000, nodes * 10]) {
    const { id } = await client.batch({}, async (add) => {
      for (let i = 0; i < members; i++) await add("Noop", [i]);
    });
    bytes.push([members.toLocaleString("en"), await redis.cli("MEMORY", "USAGE", batchKey(id))]);
  }
  console.log("### A batch in Redis, without the payloads of its members\n");
  printTable(["members", "bytes"], bytes);
}

/** Several workers on one store. */
async function workers(): Promise<void> {
  await using redis = await startRedis();
  const jobs = String(Math.round(600_000 * scale));
  const cases = Object.fromEntries([1, 2, 4, 8].map((count) => [count, async () => {
    await redis.cli("FLUSHALL");
    return await runScript<WorkersResult>("workers.ts", redis.url, String(count), jobs);
  }]));
  const results = await inTurn(cases, rounds);
  console.log("### Workers on one Redis, no-op jobs\n");
  printTable(
    ["workers", "jobs/s together", "CPU µs per job"],
    Object.entries(results).map(([count, each]) => [
      count,
      formatSpread(spreadOf(each.map(({ perSecond }) => perSecond))),
      formatNumber(spreadOf(each.map(({ cpuMicros }) => cpuMicros)).median),
    ]),
  );
}

/** Idle workers of other programs at one gateway. `make bench-peers` has their throughput. */
async function remote(): Promise<void> {
  await using redis = await startRedis();
  const count = String(Math.max(10, Math.round(1_000 * scale)));
  let files = 0;
  const results = await inTurn({
    "SQLite": () => runScript<IdleCosts>("remote_idle.ts", `sqlite:${folder}/remote-${++files}.db`, count),
    "Redis": async () => {
      await redis.cli("FLUSHALL");
      return await runScript<IdleCosts>("remote_idle.ts", redis.url, count);
    },
  }, rounds);
  console.log(`### ${Number(count).toLocaleString("en")} idle workers over HTTP at one gateway\n`);
  printTable(
    ["store", "% of a core", "MB", "push until a worker has the job, ms: p50", "p99"],
    Object.entries(results).map(([name, each]) => [
      name,
      formatSpread(spreadOf(each.map(({ percent }) => percent))),
      formatNumber(spreadOf(each.map(({ megabytes }) => megabytes)).median),
      formatSpread(spreadOf(each.map(({ reached }) => reached.p50))),
      formatSpread(spreadOf(each.map(({ reached }) => reached.p99))),
    ]),
  );
}

/** A worker with nothing to do: how much of a core it uses. */
async function idle(): Promise<void> {
  await using redis = await startRedis();
  await using postgres = await openPostgres();
  const share = async (url: string) => {
    const args = ["run", "examples/handlers.js", "--store", url, "--log-level", "error"];
    const worker = new Deno.Command(`${ROOT}jobs`, { args, cwd: ROOT, stdin: "null" }).spawn();
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    const before = await cpuMsOf(worker.pid);
    await new Promise((resolve) => setTimeout(resolve, 10_000));
    const used = await cpuMsOf(worker.pid) - before;
    worker.kill("SIGTERM");
    await worker.status;
    return used / 10_000 * 100;
  };
  console.log("### Idle worker\n");
  printTable(["store", "% of a core"], [
    ["SQLite", formatNumber(await share(`sqlite:${folder}/idle.db`))],
    ["Redis", formatNumber(await share(redis.url))],
    ...(postgres.problem === undefined ? [["PostgreSQL", formatNumber(await share(await postgres.empty()))]] : []),
  ]);
}
