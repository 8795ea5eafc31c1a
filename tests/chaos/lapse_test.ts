/**
 * The store, or the whole machine, stops for longer than a heartbeat timeout: no worker considers another one, or itself,
 * offline.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { openStore } from "../../src/store/open.ts";
import { job, takeUpTo, workerRecord } from "../store_contract/jobs.ts";
import { Bench } from "../support/bench.ts";
import { until } from "../support/eventually.ts";
import { JobsProcess } from "../support/process.ts";
import { startRedis } from "../support/redis.ts";
import { TcpProxy } from "../support/tcp_proxy.ts";

/** Long enough that a busy machine doesn't make a worker offline. */
const BRIEF = { JOBS_HEARTBEAT_TIMEOUT: "3s", JOBS_HEARTBEAT: "200ms" };
const WAITS = "Workers may be offline: waiting one heartbeat timeout before their jobs are rescued";

interface Scene {
  readonly bench: Bench;
  readonly workers: readonly [JobsProcess, JobsProcess];
}

/** Two workers run a job each, and both are disturbed. Asserts that each job has run once. */
async function survive(
  bench: Bench,
  happens: (scene: Scene) => Promise<void>,
  address: string = bench.url,
): Promise<void> {
  const start = () => new JobsProcess({ store: address, args: [bench.handlers, "-c", "1"], env: BRIEF });
  await using first = start();
  await using second = start();
  const workers = [first, second] as const;
  for (const worker of workers) await worker.logged("Ready");
  const jids = [await bench.push("Listen", [bench.notes]), await bench.push("Listen", [bench.notes])];
  for (const jid of jids) await bench.noted(`start ${jid}`);
  await happens({ bench, workers });
  await bench.until(async () => (await areAlive(bench)).every(Boolean), "both beat again");
  await bench.go();
  for (const jid of jids) await bench.noted(`end ${jid}`);
  await bench.until(async () => (await bench.store.admin.stats()).processed === 2, "both jobs are acknowledged");
  assertEquals((await bench.readNotes()).sort(), jids.flatMap((jid) => [`end ${jid}`, `start ${jid}`]).sort());
  const said = workers.flatMap(({ lines }) => lines).filter(({ msg }) => /Rescued|Leases lost/.test(msg));
  assertEquals(said, []);
}

async function areAlive(bench: Bench): Promise<boolean[]> {
  return (await bench.store.workers.list()).map(({ alive }) => alive);
}

/** The worker that continues first must not consider the other one offline before its heartbeat timeout. */
async function standStill({ bench, workers }: Scene): Promise<void> {
  for (const worker of workers) await bench.freeze(worker);
  await bench.until(async () => (await areAlive(bench)).every((alive) => !alive), "both have lapsed");
  const [first, second] = workers;
  first.kill("SIGCONT");
  await first.logged(WAITS);
  await bench.until(async () => (await areAlive(bench)).some(Boolean), "the first beats again");
  second.kill("SIGCONT");
}

/** The cases run at the same time: most of each is waiting for a heartbeat to lapse. */
const SCENES: Readonly<Record<string, () => Promise<void>>> = {
  "a machine that stands still, on SQLite": async () => {
    await using bench = await Bench.open();
    await survive(bench, standStill);
  },
  "a machine that stands still, on Redis": async () => {
    await using redis = await startRedis();
    await using bench = await Bench.open(redis.url);
    await survive(bench, standStill);
  },
  "Redis unreachable, then restarted": async () => {
    await using redis = await startRedis({ aof: "always" });
    await using proxy = await TcpProxy.start(redis.port);
    await using bench = await Bench.open(redis.url);
    await survive(bench, async () => {
      proxy.weather = "closed";
      proxy.cut();
      await bench.until(async () => (await areAlive(bench)).every((alive) => !alive), "both have lapsed");
      await redis.kill();
      await redis.start();
      // This worker reaches Redis before the two others, which have its heartbeat timeout to follow.
      await using newcomer = await bench.server(["-q", "other"], { ...BRIEF, JOBS_HEARTBEAT_TIMEOUT: "30s" });
      await newcomer.logged(WAITS);
      proxy.weather = "fair";
      await bench.until(async () => (await areAlive(bench)).every(Boolean), "all beat");
    }, `redis://127.0.0.1:${proxy.port}`);
  },
};

Deno.test("every job runs once when all workers were frozen for longer than the heartbeat timeout", async () => {
  const results = await Promise.allSettled(Object.values(SCENES).map((run) => run()));
  const failures = results.flatMap((result, i) =>
    result.status === "rejected" ? [new Error(Object.keys(SCENES)[i], { cause: result.reason })] : []
  );
  if (failures.length > 0) throw new AggregateError(failures, failures.map(({ message }) => message).join(", "));
});

Deno.test("the first worker after a restart of Redis gives all others time for a heartbeat", async () => {
  await using redis = await startRedis({ aof: "always" });
  const [before, after] = ["host:1:aaaaaaaaaaaa", "host:2:bbbbbbbbbbbb"];
  {
    await using store = await openStore(redis.url);
    await store.workers.heartbeat(workerRecord(before), 1);
    await store.jobs.enqueue([job(1)]);
    await takeUpTo(store, before);
  }
  await redis.kill();
  await redis.start();
  await using store = await openStore(redis.url);
  const beat = () => store.workers.heartbeat(workerRecord(after), 600);
  const rescue = () => store.jobs.rescue({ worker: after, limit: 10, maxRescues: 3 });
  const began = performance.now();
  await beat();
  assertEquals(await rescue(), { rescued: 0, doomed: [], offline: [], more: false, waits: true });
  await until(async () => (await beat(), (await rescue()).rescued === 1));
  assertEquals(performance.now() - began >= 600, true);
});
