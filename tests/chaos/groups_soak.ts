/**
 * Groups of limit 1 while workers are killed all the time and frozen past their heartbeat timeout. Counts the runs of one group
 * that overlap between living workers, by the store's clock, and exits with 1 if there is one or a group is left behind.
 *
 *   GROUPS=1000 SECONDS=60 KILL_EVERY_MS=200 WORKERS=6 deno run -A tests/chaos/groups_soak.ts [redis | postgres]
 *
 * @module
 */
import { systemClock } from "../../src/clock.ts";
import { openStore } from "../../src/store/open.ts";
import { until } from "../support/eventually.ts";
import { temporaryFolder } from "../support/process.ts";
import { startServer, type StoreKind } from "../support/servers.ts";
import { jobOf, overlaps, TTL_MS, Worker } from "./group_workers.ts";

const setting = (name: string, usual: number) => Number(Deno.env.get(name) ?? usual);
const GROUPS = setting("GROUPS", 1_000);
const SECONDS = setting("SECONDS", 60);
const KILL_EVERY_MS = setting("KILL_EVERY_MS", 200);
const WORKERS = setting("WORKERS", 6);
/** Every eighth disturbance freezes a worker instead of killing it. */
const FREEZE_EACH = 8;
/** Jobs per push: another push follows when fewer are queued. */
const REFILL = 1_000;

await using folder = await temporaryFolder();
const kind = (Deno.args[0] ?? "sqlite") as StoreKind;
await using server = await startServer(kind);
const url = server?.url() ?? `sqlite:${folder.path}/jobs.db`;
await using store = await openStore(url);
await store.admin.configure("default", { eachGroup: true, limit: { running: 1 } });

let pushed = 0;
async function refill(): Promise<void> {
  // Half of the jobs are of ten groups, so that many groups are held.
  const jobs = Array.from({ length: REFILL }, () => {
    const n = pushed++;
    return jobOf(n, n % 2 === 0 ? `busy${(n / 2) % 10}` : `g${((n - 1) / 2) % GROUPS}`);
  });
  await store.jobs.enqueue(jobs);
}

let named = 0;
const start = () => new Worker(url, `host:${++named}:aaaaaaaaaaaa`);
const workers = Array.from({ length: WORKERS }, start);
const ended: Worker[] = [];
const waking: Promise<void>[] = [];
const counts = { killed: 0, frozen: 0, offline: 0 };
const end = systemClock.monotonic() + SECONDS * 1_000;
let turn = 0;
while (systemClock.monotonic() < end) {
  if ((await store.admin.stats()).enqueued < REFILL) await refill();
  for (const [i, worker] of workers.entries()) {
    if (!worker.hasEnded) continue;
    counts.offline++;
    ended.push(worker);
    workers[i] = start();
  }
  const busy = workers.filter((worker) => worker.isWorking);
  const worker = busy[turn++ % Math.max(1, busy.length)];
  if (worker !== undefined) {
    if ((counts.killed + counts.frozen + 1) % FREEZE_EACH === 0) {
      counts.frozen++;
      worker.freeze();
      waking.push(systemClock.sleep(3 * TTL_MS).then(() => worker.wake()));
    } else {
      counts.killed++;
      await worker.kill();
    }
    ended.push(worker);
    workers[workers.indexOf(worker)] = start();
  }
  await systemClock.sleep(KILL_EVERY_MS);
}
await Promise.all(waking);
const isDrained = async () => {
  const { enqueued, running } = await store.admin.stats();
  return enqueued === 0 && running === 0;
};
await until(isDrained, "each group is served", 600_000);
for (const worker of [...workers, ...ended]) await worker.kill();
const runs = [...workers, ...ended].flatMap((worker) => worker.runs);
const missing = pushed - new Set(runs.map(({ jid }) => jid)).size;
const found = overlaps(runs);
console.log({
  store: kind,
  ...counts,
  jobs: pushed,
  runs: runs.length,
  missing,
  overlaps: found.length,
});
for (const pair of found.slice(0, 5)) console.log(pair);
Deno.exitCode = found.length > 0 || missing > 0 ? 1 : 0;
