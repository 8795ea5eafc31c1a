/**
 * The part `schedules`: cron entries by the hundred thousand, and scheduled jobs by the million.
 *
 * @module
 */
import { startRedis } from "../support/redis.ts";
import { formatNumber, inTurn, printTable, runScript, spreadOf } from "./measure.ts";
import { openPostgres } from "./postgres.ts";
import type { DelayCosts } from "./delays.ts";
import type { ScheduleCosts } from "./schedules_load.ts";

/** Numbers of entries. */
const COUNTS = [100, 10_000, 100_000, 1_000_000];
/** Number of scheduled jobs. */
const DELAYED = 1_000_000;

const COLUMNS: readonly (readonly [title: string, value: (costs: ScheduleCosts) => number | undefined])[] = [
  ["added in bulk/s", (costs) => costs.loadedPerSecond],
  ["bytes each", (costs) => costs.bytesPerEntry],
  ["one more, ms", (costs) => costs.addMs],
  ["page of 100, ms", (costs) => costs.pageMs],
  ["`/cron`, ms", (costs) => costs.webMs],
  ["idle worker, % of a core", (costs) => costs.idlePercent],
  ["1,000 due at once: last one late, ms", (costs) => costs.lateMs],
  ["processor time each, ms", (costs) => costs.dueCpuMs],
  ["longest script, ms", (costs) => costs.scriptMs],
];

const DELAY_COLUMNS: readonly (readonly [title: string, value: (costs: DelayCosts) => number])[] = [
  ["added/s", (costs) => costs.addedPerSecond],
  ["bytes each", (costs) => costs.bytesPerJob],
  ["page of 100, ms", (costs) => costs.pageMs],
  ["1,000 due per second: start late, p50 ms", (costs) => costs.steady.p50],
  ["p99 ms", (costs) => costs.steady.p99],
  ["due at once: promoted/s", (costs) => costs.promotedPerSecond],
];

/** Prints what entries and scheduled jobs cost on each store. @param folder for databases */
export async function schedules(folder: string, rounds: number, scale: number): Promise<void> {
  await using postgres = await openPostgres();
  const measure = async <Costs>(
    script: string,
    counts: readonly number[],
    columns: readonly (readonly [string, (costs: Costs) => number | undefined])[],
    what: string,
  ) => {
    const rows: string[][] = [];
    for (const count of counts) {
      const run = (url: string) => runScript<Costs>(script, url, String(count));
      const results = await inTurn({
        "SQLite": () => run(`sqlite:${folder}/schedules-${crypto.randomUUID()}.db`),
        "Redis": async () => {
          await using redis = await startRedis();
          return await run(redis.url);
        },
        ...postgres.row(run),
      }, rounds);
      for (const [name, each] of Object.entries(results)) {
        const cells = columns.map(([, value]) => {
          const values = each.map(value).filter((one) => one !== undefined);
          return values.length === 0 ? "" : formatNumber(spreadOf(values).median);
        });
        rows.push([name, count.toLocaleString("en"), ...cells]);
      }
    }
    printTable(["store", what, ...columns.map(([title]) => title)], rows);
  };
  const scaled = (count: number) => Math.max(100, Math.round(count * scale));
  console.log("### Cron entries\n");
  await measure<ScheduleCosts>("schedules_load.ts", COUNTS.map(scaled), COLUMNS, "entries");
  console.log("### Scheduled jobs\n");
  await measure<DelayCosts>("delays.ts", [scaled(DELAYED)], DELAY_COLUMNS, "jobs");
}
