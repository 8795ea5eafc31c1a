/**
 * The main test of durable steps: jobs of twenty steps with sleeps, signals and children, while workers are
 * killed, or frozen past the heartbeat timeout. Each step appends a line, which must exist exactly once, except for the
 * steps in flight at a disturbance, which are counted.
 *
 * `STEPS_JOBS=500 STEPS_EVERY=50 deno test …` runs it for longer.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { type JobsProcess, MORTAL } from "../support/process.ts";

const HANDLERS = new URL("../support/step_handlers.js", import.meta.url).pathname;
const JOBS = Number(Deno.env.get("STEPS_JOBS") ?? 24);
/** A worker is disturbed whenever this many steps have run since the last time. */
const EVERY = Number(Deno.env.get("STEPS_EVERY") ?? 30);
const STEPS = 20;
const WORKERS = 3;
const CONCURRENCY = 4;

/** Runs the test on a store. */
export async function stepsChaos(url?: string): Promise<void> {
  await using bench = await Bench.open(url);
  await using stack = new AsyncDisposableStack();
  const env = { ...MORTAL, JOBS_MAX_RESCUES: "1000" };
  const start = async () => stack.use(await bench.server([HANDLERS, "-c", `${CONCURRENCY}`], env));
  const workers = await Promise.all(Array.from({ length: WORKERS }, start));
  const jids: string[] = [];
  for (let i = 0; i < JOBS; i++) jids.push(await bench.push("Saga", [bench.notes]));
  // Half of the signals come before their waits.
  for (const jid of jids.slice(JOBS / 2)) await bench.client.signal(`saga:${jid}`);

  let disturbances = 0;
  let disturbedAt = 0;
  const signalled = new Set<string>();
  const thawing: Promise<void>[] = [];
  let lines = 0;
  let isOver = false;
  /** Disturbs and signals. Returns whether a step ran since the last call. */
  const getsOn = async () => {
    const notes = await bench.readNotes();
    for (const jid of jids.slice(0, JOBS / 2)) {
      if (
        signalled.has(jid) ||
        !notes.includes(`value ${jid} 9`) && !notes.some((line) => line.startsWith(`value ${jid} 9 `))
      ) {
        continue;
      }
      signalled.add(jid);
      await bench.client.signal(`saga:${jid}`);
    }
    const steps = notes.filter((line) => line.startsWith("step ")).length;
    if (steps - disturbedAt >= EVERY) {
      disturbedAt = steps;
      const at = disturbances++ % WORKERS;
      if (disturbances % 3 === 0) thawing.push(freeze(bench, workers[at]!));
      else {
        workers[at]!.kill("SIGKILL");
        workers[at] = await start();
      }
    }
    isOver = jids.every((jid) => notes.includes(`end ${jid}`));
    const before = lines;
    lines = notes.length;
    return isOver || lines > before;
  };
  while (!isOver) await bench.until(getsOn, "the jobs get on");
  await Promise.all(thawing);
  await bench.until(async () => {
    const { enqueued, scheduled, retry, dead, leased } = await bench.store.admin.stats();
    return enqueued + scheduled + retry + dead + leased === 0;
  }, "the store is empty");

  const notes = await bench.readNotes();
  const counts = countBy(notes.filter((line) => line.startsWith("step ")));
  assertEquals(counts.size, JOBS * STEPS, "each step has run");
  const repeated = [...counts.values()].reduce((sum, count) => sum + count - 1, 0);
  const inFlight = disturbances * CONCURRENCY;
  assert(repeated <= inFlight, `${repeated} steps ran again; at most ${inFlight} were in flight at a disturbance`);
  assert(disturbances > 2, `only ${disturbances} disturbances: nothing was tested`);
  const values = new Set(notes.filter((line) => line.startsWith("value ")));
  assertEquals(values.size, JOBS * STEPS, "each step has the same value in every attempt");
  const children = new Set(notes.filter((line) => line.startsWith("child ")));
  assertEquals(children.size, JOBS, "each job has one child");
  for (const jid of jids) {
    assert(notes.includes(`result ${jid} of:${jid}`));
    assertEquals(await bench.store.steps.read(jid), []);
  }
  console.log(`${JOBS * STEPS} steps, ${disturbances} disturbances, ${repeated} steps repeated`);
}

/** Freezes a worker until the others have rescued its jobs. */
async function freeze(bench: Bench, worker: JobsProcess): Promise<void> {
  const { identity } = await worker.logged("Ready");
  await bench.freeze(worker);
  await bench.until(
    async () => !(await bench.store.workers.list()).some((one) => one.identity === identity),
    "the frozen worker is offline",
  );
  worker.kill("SIGCONT");
}

function countBy(lines: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
  return counts;
}
