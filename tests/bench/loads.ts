/**
 * Throughput by kind of load: payload sizes, handlers that wait, depth, queues, and what jobs use of the other features.
 *
 * @module
 */
import { startRedis } from "../support/redis.ts";
import { openPostgres } from "./postgres.ts";
import { formatNumber, formatSpread, inTurn, printTable, runScript, spreadOf } from "./measure.ts";
import type { Feature, Load, LoadResult } from "./load.ts";

/** A table of loads, each measured on all stores. */
interface LoadTable {
  readonly title: string;
  /** The difference between the rows. */
  readonly head: string;
  readonly rows: Readonly<Record<string, Load>>;
  /** Returns the cells of a row for one store, under `columns`. */
  readonly columns: readonly string[];
  readonly cells: (results: readonly LoadResult[], load: Load, first: readonly LoadResult[]) => string[];
}

type Rate = "pushPerSecond" | "drainPerSecond";

const FEATURES: readonly Feature[] = ["plain", "groups", "batch", "limit", "unique", "result", "steps"];
const SIZES = [100, 1_000, 10_000, 100_000];
const MAX_BYTES_PER_ROW = 200_000_000;

const rate = (results: readonly LoadResult[], name: Rate) => spreadOf(results.map((result) => result[name]));
const cpu = (results: readonly LoadResult[]) => formatNumber(spreadOf(results.map((one) => one.drainCpuMicros)).median);
/** The median of the ratios of each round to the first row's. */
const share = (results: readonly LoadResult[], first: readonly LoadResult[], name: Rate) =>
  `${Math.round(100 * spreadOf(results.map((result, i) => result[name] / first[i]![name])).median)} %`;
const megabytes = (perSecond: number, load: Load) => formatNumber(perSecond * (load.bytes ?? 0) / 1e6);

function rowsOf<Value>(values: readonly Value[], load: (value: Value) => Load, name = formatAny): Record<string, Load> {
  return Object.fromEntries(values.map((value) => [name(value), load(value)]));
}

function formatAny(value: unknown): string {
  return typeof value === "number" ? value.toLocaleString("en") : String(value);
}

/** The tables by the name of the part. `scale` multiplies the numbers of jobs. */
export function loadTables(scale: number): Readonly<Record<string, LoadTable>> {
  const jobs = (count: number) => Math.max(1_000, Math.round(count * scale));
  return {
    features: {
      title: "Features, no-op jobs, concurrency 10",
      head: "jobs use",
      rows: rowsOf(FEATURES, (feature) => ({ jobs: jobs(feature === "steps" ? 20_000 : 50_000), feature })),
      columns: ["push/s", "drain/s", "of plain", "CPU µs per job"],
      cells: (results, _, first) => [
        formatSpread(rate(results, "pushPerSecond")),
        formatSpread(rate(results, "drainPerSecond")),
        share(results, first, "drainPerSecond"),
        cpu(results),
      ],
    },
    groups: {
      title: "Groups and priorities, no-op jobs, concurrency 10",
      head: "jobs",
      rows: {
        "without a group": { jobs: jobs(100_000) },
        "10,000 groups": { jobs: jobs(100_000), feature: "groups", groups: 10_000 },
        "3 priorities": { jobs: jobs(100_000), feature: "priorities" },
      },
      columns: ["push/s", "drain/s", "of no group", "CPU µs per job"],
      cells: (results, _, first) => [
        formatSpread(rate(results, "pushPerSecond")),
        formatSpread(rate(results, "drainPerSecond")),
        share(results, first, "drainPerSecond"),
        cpu(results),
      ],
    },
    full: {
      title: "100 groups next to one at its limit, no-op jobs, concurrency 10",
      head: "jobs of the full group",
      rows: rowsOf([0, 1_000_000], (full) => ({
        jobs: jobs(100_000),
        feature: "groups",
        full: Math.round(full * Math.min(1, scale)),
      })),
      columns: ["drain/s", "of none", "CPU µs per job"],
      cells: (results, _, first) => [
        formatSpread(rate(results, "drainPerSecond")),
        share(results, first, "drainPerSecond"),
        cpu(results),
      ],
    },
    payloads: {
      title: "Payload sizes, no-op jobs, concurrency 10",
      head: "bytes",
      rows: rowsOf(SIZES, (bytes) => ({ bytes, jobs: jobs(Math.min(50_000, MAX_BYTES_PER_ROW / bytes)) })),
      columns: ["push/s", "MB/s", "drain/s", "MB/s", "CPU µs per job"],
      cells: (results, load) => {
        const [push, drain] = [rate(results, "pushPerSecond"), rate(results, "drainPerSecond")];
        return [
          formatSpread(push),
          megabytes(push.median, load),
          formatSpread(drain),
          megabytes(drain.median, load),
          cpu(results),
        ];
      },
    },
    io: {
      title: "Handlers that wait 5 ms",
      head: "concurrency",
      rows: rowsOf([10, 100, 1_000], (concurrency) => ({
        concurrency,
        waitMs: 5,
        jobs: jobs(concurrency * 400),
      })),
      columns: ["drain/s", "processors in handlers", "CPU µs per job"],
      cells: (results) => [
        formatSpread(rate(results, "drainPerSecond")),
        `${Math.round(100 * spreadOf(results.map((one) => one.busyShare!)).median)} %`,
        cpu(results),
      ],
    },
    depth: {
      title: "Depth: as many jobs are queued and scheduled already",
      head: "depth",
      rows: rowsOf([0, 10_000, 1_000_000, 5_000_000], (depth) => ({
        jobs: jobs(50_000),
        queued: Math.round(depth * Math.min(1, scale)),
        scheduled: Math.round(depth * Math.min(1, scale)),
      })),
      columns: ["push/s", "of empty", "drain/s", "of empty", "CPU µs per job"],
      cells: (results, _, first) => [
        formatSpread(rate(results, "pushPerSecond")),
        share(results, first, "pushPerSecond"),
        formatSpread(rate(results, "drainPerSecond")),
        share(results, first, "drainPerSecond"),
        cpu(results),
      ],
    },
    queues: {
      title: "Queues of one worker",
      head: "queues",
      rows: rowsOf([1, 10, 100, 1_000, 10_000], (queues) => ({ jobs: jobs(50_000), queues })),
      columns: ["push/s", "drain/s", "of one queue", "CPU µs per job"],
      cells: (results, _, first) => [
        formatSpread(rate(results, "pushPerSecond")),
        formatSpread(rate(results, "drainPerSecond")),
        share(results, first, "drainPerSecond"),
        cpu(results),
      ],
    },
  };
}

/** Measures and prints a table, for one store after the other. */
export async function printLoads(table: LoadTable, folder: string, rounds: number): Promise<void> {
  await using redis = await startRedis();
  await using postgres = await openPostgres();
  const stores: Record<string, (load: Load) => Promise<LoadResult>> = {
    async SQLite(load: Load) {
      const path = await Deno.makeTempFile({ dir: folder, suffix: ".db" });
      try {
        return await runScript<LoadResult>("load.ts", `sqlite:${path}`, JSON.stringify(load));
      } finally {
        for (const suffix of ["", "-wal", "-shm"]) await Deno.remove(path + suffix).catch(() => {});
      }
    },
    async Redis(load: Load) {
      await redis.cli("FLUSHALL");
      return await runScript<LoadResult>("load.ts", redis.url, JSON.stringify(load));
    },
    ...(postgres.problem === undefined && {
      PostgreSQL: async (load: Load) =>
        await runScript<LoadResult>("load.ts", await postgres.empty(), JSON.stringify(load)),
    }),
  };
  for (const [store, run] of Object.entries(stores)) {
    console.log(`### ${table.title}: ${store}\n`);
    const cases = Object.fromEntries(
      Object.entries(table.rows).map(([name, load]) => [name, () => run(load)]),
    );
    const results = await inTurn(cases, rounds);
    const first = Object.values(results)[0]!;
    printTable(
      [table.head, ...table.columns],
      Object.entries(table.rows).map(([name, load]) => [name, ...table.cells(results[name]!, load, first)]),
    );
    const wrong = Object.entries(results).filter(([, all]) => all.some((one) => one.wrong > 0));
    if (wrong.length > 0) console.log(`!! jobs lost or left: ${JSON.stringify(wrong)}\n`);
  }
}
