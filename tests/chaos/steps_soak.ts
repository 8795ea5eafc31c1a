/**
 * Durable steps for minutes: at an interval one worker is killed, frozen past the heartbeat timeout or restarted, and the server
 * of the store is killed twice. Exits with 1 if a step that was not in flight ran twice, a value changed, or a job didn't end.
 *
 *   JOBS=500 SECONDS=120 EVERY_MS=200 WORKERS=4 deno run -A tests/chaos/steps_soak.ts [redis | postgres]
 *
 * @module
 */
import { systemClock } from "../../src/clock.ts";
import { StoreError } from "../../src/store/port/errors.ts";
import { Bench } from "../support/bench.ts";
import { type JobsProcess, MORTAL } from "../support/process.ts";
import { startServer, type StoreKind } from "../support/servers.ts";
import { SAGA_HANDLERS, Sagas } from "./sagas.ts";

const setting = (name: string, usual: number) => Number(Deno.env.get(name) ?? usual);
const JOBS = setting("JOBS", 500);
const SECONDS = setting("SECONDS", 120);
const EVERY_MS = setting("EVERY_MS", 200);
const WORKERS = setting("WORKERS", 4);
const CONCURRENCY = 4;
const SERVER_RESTARTS = 2;
/** A worker is left alone for this long after it is ready: else no job would get on where starting takes longer than living. */
const MIN_LIFE_MS = setting("MIN_LIFE_MS", 1_000);
/** Past the heartbeat timeout of 3 s, and past the time in which the others notice it. */
const FREEZE_MS = 6_000;

await using server = await startServer((Deno.args[0] ?? "sqlite") as StoreKind);
await using bench = await Bench.open(server?.url());
await using stack = new AsyncDisposableStack();

/** A worker and its state. */
interface One {
  readonly process: JobsProcess;
  state: "starting" | "ready" | "frozen" | "stopping";
  /** When it was ready. */
  readyAt: number;
}

async function start(): Promise<One> {
  const env = { ...MORTAL, JOBS_MAX_RESCUES: "1000" };
  const process = stack.use(await bench.server([SAGA_HANDLERS, "-c", `${CONCURRENCY}`], env, false));
  const one: One = { process, state: "starting", readyAt: 0 };
  process.logged("Ready").then(() => {
    one.state = "ready";
    one.readyAt = systemClock.monotonic();
  }, () => {});
  return one;
}

const workers = await Promise.all(Array.from({ length: WORKERS }, start));
const sagas = await Sagas.push(bench, JOBS);
const counts = { killed: 0, frozen: 0, restarted: 0, server: 0 };
const frozen = new Set<number>();
const pending: Promise<void>[] = [];
let turn = 0;

async function freeze(one: One): Promise<void> {
  one.state = "frozen";
  frozen.add(one.process.pid);
  await bench.freeze(one.process);
  await systemClock.sleep(FREEZE_MS);
  one.process.kill("SIGCONT");
  one.state = "ready";
}

/** Disturbs one of the workers that are ready. */
async function disturb(): Promise<void> {
  const since = systemClock.monotonic() - MIN_LIFE_MS;
  const ready = workers.filter(({ state, readyAt }) => state === "ready" && readyAt <= since);
  const one = ready[turn++ % Math.max(1, ready.length)];
  if (one === undefined) return;
  const at = workers.indexOf(one);
  const kind = turn % 4;
  if (kind === 0 && !workers.some(({ state }) => state === "frozen")) {
    counts.frozen++;
    pending.push(freeze(one));
  } else if (kind === 1) {
    counts.restarted++;
    one.state = "stopping";
    one.process.kill("SIGTERM");
    pending.push(one.process.status().then(async () => void (workers[at] = await start())));
  } else {
    counts.killed++;
    one.process.kill("SIGKILL");
    workers[at] = await start();
  }
}

const begun = systemClock.monotonic();
const elapsedMs = () => systemClock.monotonic() - begun;
const restartAt = Array.from({ length: server ? SERVER_RESTARTS : 0 }, (_, i) => SECONDS * 1_000 * (i + 1) / 3);
const signalling = (async () => {
  while (elapsedMs() < SECONDS * 1_000) {
    await systemClock.sleep(1_000);
    await sagas.progress().catch((error) => {
      if (!(error instanceof StoreError)) throw error; // The server is down: the next turn sends the signal
    });
  }
})();
while (elapsedMs() < SECONDS * 1_000) {
  await systemClock.sleep(EVERY_MS);
  if (restartAt.length > 0 && elapsedMs() > restartAt[0]!) {
    restartAt.shift();
    counts.server++;
    await server!.kill();
    await server!.start();
  }
  await disturb();
}
await signalling;
await Promise.all(pending);
const { steps, ended } = await sagas.progress();
console.log(`after ${SECONDS} s: ${JSON.stringify(counts)}, ${steps} runs of steps, ${ended} ends`);
let lines = 0;
let isOver = false;
const getsOn = async () => {
  const before = lines;
  lines = (await sagas.progress()).lines;
  isOver = await sagas.haveEnded();
  return isOver || lines > before;
};
while (!isOver) await bench.until(getsOn, "the jobs get on");
const inFlight = (counts.killed + counts.frozen) * CONCURRENCY;
const repeated = await sagas.account(inFlight, frozen);
console.log(`${JOBS} jobs ended; ${repeated} of ${JOBS * 20} steps ran twice, ${inFlight} were in flight at most`);
