/**
 * The part `schedules`: cron entries by the hundred thousand.
 *
 * @module
 */
import { startRedis } from "../support/redis.ts";
import { formatNumber, inTurn, printTable, runScript, spreadOf } from "./measure.ts";
import { openPostgres } from "./postgres.ts";
import type { ScheduleCosts } from "./schedules_load.ts";

/** Numbers of entries; more than 100,000 only on Redis, where they are loaded fastest. */
const COUNTS = [100, 10_000, 100_000, 1_000_000];
const MAX_ON_DISK = 100_000;

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

/** Prints what entries cost on each store. @param folder for databases */
export async function schedules(folder: string, rounds: number, scale: number): Promise<void> {
  console.log("### Cron entries\n");
  const rows: string[][] = [];
  await using postgres = await openPostgres();
  for (const count of COUNTS.map((count) => Math.max(100, Math.round(count * scale)))) {
    const run = (url: string) => runScript<ScheduleCosts>("schedules_load.ts", url, String(count));
    const results = await inTurn({
      ...(count <= MAX_ON_DISK && {
        "SQLite": () => run(`sqlite:${folder}/schedules-${crypto.randomUUID()}.db`),
        ...postgres.row(run),
      }),
      "Redis": async () => {
        await using redis = await startRedis();
        return await run(redis.url);
      },
    }, rounds);
    for (const [name, each] of Object.entries(results)) {
      const cells = COLUMNS.map(([, value]) => {
        const values = each.map(value).filter((one) => one !== undefined);
        return values.length === 0 ? "" : formatNumber(spreadOf(values).median);
      });
      rows.push([name, count.toLocaleString("en"), ...cells]);
    }
  }
  printTable(["store", "entries", ...COLUMNS.map(([title]) => title)], rows);
}
