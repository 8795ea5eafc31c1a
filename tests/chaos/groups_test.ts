/**
 * Groups of limit 1 while workers are killed and frozen: no two jobs of a group run at once between living workers, and no
 * group is forgotten. Real processes on a real store.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { openStore } from "../../src/store/open.ts";
import { temporaryFolder } from "../support/process.ts";
import { until } from "../support/eventually.ts";
import { startRedis } from "../support/redis.ts";
import { jobOf, overlaps, Worker } from "./group_workers.ts";

const GROUPS = 1_000;
const JOBS = 1_500;
const KILLS = 12;
for (const kind of ["SQLite", "Redis"] as const) {
  Deno.test(`runs one job of each of 1,000 groups at a time while workers are killed and frozen (${kind})`, async () => {
    await using folder = await temporaryFolder();
    await using redis = kind === "Redis" ? await startRedis() : undefined;
    const url = redis?.url ?? `sqlite:${folder.path}/jobs.db`;
    await using store = await openStore(url);
    await store.admin.configure("default", { eachGroup: true, limit: { running: 1 } });
    const all = Array.from({ length: JOBS }, (_, n) => {
      // Half of the jobs belong to ten groups, so that many groups are at their limit.
      const group = n % 2 === 0 ? `busy${(n / 2) % 10}` : `g${n % GROUPS}`;
      return jobOf(n, group);
    });
    await store.jobs.enqueue(all);
    const isDrained = async () => {
      const { enqueued, running } = await store.admin.stats();
      return enqueued === 0 && running === 0;
    };
    let named = 0;
    const start = () => new Worker(url, `host:${++named}:aaaaaaaaaaaa`);
    const workers = [start(), start(), start()];
    const ended: Worker[] = [];
    for (let kills = 0; kills < KILLS; kills++) {
      const at = kills % workers.length;
      const worker = workers[at]!;
      await until(async () => worker.isWorking || await isDrained(), "the worker runs a job");
      if (!worker.isWorking) break;
      if (kills === 2) {
        worker.freeze();
        // Until another worker has rescued its jobs.
        await until(async () => !(await store.workers.list()).some(({ alive }) => !alive), "it is rescued", 60_000);
        worker.wake();
      } else {
        await worker.kill();
      }
      ended.push(worker);
      workers[at] = start();
    }
    await until(isDrained, "each group is served", 120_000);
    for (const worker of [...workers, ...ended]) await worker.kill();
    const runs = [...workers, ...ended].flatMap((worker) => worker.runs);
    assertEquals(overlaps(runs), []);
    const done = new Set(runs.map(({ jid }) => jid));
    assertEquals(all.filter(({ jid }) => !done.has(jid)), []);
    assert(ended.length >= 4 && runs.length > JOBS, `${ended.length} workers ended, ${runs.length} runs`);
    assertEquals((await store.admin.groups("default")).groups, []);
  });
}
