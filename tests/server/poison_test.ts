/** Jobs that kill their workers, among harmless jobs. */
import { assert, assertEquals } from "@std/assert";
import { CrashLab, type LabOptions } from "../support/crash_lab.ts";
import { startRedis } from "../support/redis.ts";
import { sqliteFolder } from "../support/stores.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** A test on each store. */
function onBothStores(title: string, options: LabOptions, run: (lab: CrashLab) => Promise<void>): void {
  Deno.test(`${title}, on SQLite`, async () => {
    await using folder = await sqliteFolder();
    await using lab = await CrashLab.open(`sqlite:${folder.file}?durability=normal`, options);
    await run(lab);
  });
  Deno.test(`${title}, on Redis`, async () => {
    await using redis = await startRedis();
    await using lab = await CrashLab.open(redis.url, options);
    await run(lab);
  });
}

const QUICK = { runMs: 10 };
const CRASH = { runMs: 5, kills: true };

onBothStores(
  "a job that kills its worker within milliseconds is dead after 3 rescues, and other jobs run",
  { behaviours: { Quick: QUICK, Crash: CRASH } },
  async (lab) => {
    const before = await lab.push("Quick", 5);
    const [poison] = await lab.push("Crash");
    const behind = await lab.push("Quick", 30);
    await lab.startWorker(10);
    await lab.untilEnded([...before, poison!, ...behind], 5 * MINUTE);
    assertEquals([...lab.dead], [[poison, 3]]);
    // After the first death, any of the jobs may be to blame.
    assertEquals([lab.deaths, lab.starts.get(poison!)!.length], [4, 4]);
    const { running, retry, scheduled, enqueued } = await lab.store.admin.stats();
    assertEquals({ running, retry, scheduled, enqueued }, { running: 0, retry: 0, scheduled: 0, enqueued: 0 });
  },
);

onBothStores(
  "a job that kills its worker after seconds is dead in the end, and other jobs of a minute run",
  { behaviours: { Long: { runMs: MINUTE }, Crash: { runMs: 3 * SECOND, kills: true } } },
  async (lab) => {
    const before = await lab.push("Long", 4);
    const [poison] = await lab.push("Crash");
    const behind = await lab.push("Long", 5);
    await lab.startWorker(10);
    await lab.untilEnded([...before, poison!, ...behind], 30 * MINUTE);
    assertEquals([...lab.dead.keys()], [poison]);
    assert(lab.deaths <= 5, `${lab}`);
  },
);

onBothStores(
  "of several such jobs and several workers, only these jobs are dead in the end",
  {
    behaviours: { Quick: QUICK, Long: { runMs: 40 * SECOND }, Crash: CRASH, Late: { runMs: 7 * SECOND, kills: true } },
  },
  async (lab) => {
    const poison = await lab.push("Crash");
    const others = await lab.push("Quick", 20);
    poison.push(...await lab.push("Late"));
    others.push(...await lab.push("Long", 8));
    poison.push(...await lab.push("Crash", 2));
    others.push(...await lab.push("Quick", 100));
    for (let i = 0; i < 3; i++) await lab.startWorker(10);
    await lab.untilEnded([...poison, ...others], 60 * MINUTE);
    assertEquals([...lab.dead.keys()].sort(), poison.sort());
    assertEquals(lab.done.filter((jid) => poison.includes(jid)), []);
  },
);

onBothStores(
  "next to other jobs all the time, a job that kills its worker late is dead in the end, and only that job",
  { behaviours: { Steady: { runMs: 2 * SECOND }, Late: { runMs: 5 * SECOND, kills: true } } },
  async (lab) => {
    const [poison] = await lab.push("Late");
    const others: string[] = [];
    await lab.startWorker(4);
    for (let i = 0; i < 60 && !lab.dead.has(poison!); i++) {
      others.push(...await lab.push("Steady", 10));
      const end = lab.clock.monotonic() + 5 * SECOND;
      await lab.until(() => lab.clock.monotonic() >= end, MINUTE);
    }
    await lab.untilEnded(others, 10 * MINUTE);
    assertEquals([...lab.dead.keys()], [poison]);
    assert(lab.deaths <= 7, `${lab}`);
  },
);

onBothStores(
  "long jobs of a worker that was killed once run side by side again",
  { behaviours: { Long: { runMs: 10 * MINUTE } } },
  async (lab) => {
    const jobs = await lab.push("Long", 10);
    const victim = await lab.startWorker(10);
    await lab.until(() => lab.starts.size === 10, MINUTE);
    await lab.startWorker(10);
    victim.die();
    await lab.until(() => jobs.every((jid) => lab.starts.get(jid)!.length === 2), MINUTE);
    await lab.untilEnded(jobs, 11 * MINUTE);
    assertEquals([lab.deaths, lab.dead.size], [1, 0]);
  },
);

onBothStores(
  "a suspect that must not run next to another one delays no other job",
  { behaviours: { Quick: QUICK, Long: { runMs: 5 * MINUTE } } },
  async (lab) => {
    const suspects = await lab.push("Long", 3);
    await lab.startWorker(3);
    for (let deaths = 1; deaths <= 2; deaths++) {
      await lab.until(() => suspects.every((jid) => lab.starts.get(jid)?.length === deaths), MINUTE);
      for (const worker of lab.workers) worker.die();
    }
    const others = await lab.push("Quick", 50);
    await lab.untilEnded(others, MINUTE);
    await lab.untilEnded(suspects, 20 * MINUTE);
    assertEquals(lab.dead.size, 0);
    const [a, b, c] = suspects.map((jid) => lab.starts.get(jid)!.at(-1)!).sort((a, b) => a - b);
    assert(b! - a! >= 5 * MINUTE && c! - b! >= 5 * MINUTE, "one after the other");
  },
);

onBothStores(
  "isolated jobs start like any other, and are never doomed",
  { behaviours: { Apart: { runMs: 4 * SECOND }, Crash: CRASH }, isolated: ["Apart"] },
  async (lab) => {
    const apart = await lab.push("Apart", 6);
    const [poison] = await lab.push("Crash");
    await lab.startWorker(10);
    await lab.untilEnded([...apart, poison!], 5 * MINUTE);
    assertEquals([...lab.dead.keys()], [poison]);
    const second = apart.map((jid) => lab.starts.get(jid)![1]!);
    assertEquals(new Set(second).size, 1, "all at once");
  },
);
