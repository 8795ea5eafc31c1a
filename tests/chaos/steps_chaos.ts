/**
 * Durable steps while workers are killed, or frozen past the heartbeat timeout. `steps_soak.ts` does the same for minutes.
 *
 * @module
 */
import { assert } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { MORTAL } from "../support/process.ts";
import { freezePastTimeout, SAGA_HANDLERS, Sagas } from "./sagas.ts";

const JOBS = 24;
/** A worker is disturbed whenever this many steps have run since the last time. */
const EVERY = 30;
const WORKERS = 3;
const CONCURRENCY = 4;

/** Runs the test on a store. */
export async function stepsChaos(url?: string): Promise<void> {
  await using bench = await Bench.open(url);
  await using stack = new AsyncDisposableStack();
  const env = { ...MORTAL, JOBS_MAX_RESCUES: "1000" };
  const start = async () => stack.use(await bench.server([SAGA_HANDLERS, "-c", `${CONCURRENCY}`], env));
  const workers = await Promise.all(Array.from({ length: WORKERS }, start));
  const sagas = await Sagas.push(bench, JOBS);

  let disturbances = 0;
  let disturbedAt = 0;
  /** Resolves when the last worker is no longer frozen; undefined while it isn't. */
  let thawing: Promise<void> | undefined;
  let lines = 0;
  let isOver = false;
  /** Disturbs and signals. Returns whether a handler noted something since the last call. */
  const getsOn = async () => {
    const progress = await sagas.progress();
    if (progress.steps - disturbedAt >= EVERY) {
      disturbedAt = progress.steps;
      const at = disturbances++ % WORKERS;
      if (at === WORKERS - 1) {
        // Not while it is frozen: it would continue when it should freeze.
        thawing ??= freezePastTimeout(bench, workers[at]!).finally(() => thawing = undefined);
      } else {
        workers[at]!.kill("SIGKILL");
        workers[at] = await start();
      }
    }
    isOver = await sagas.haveEnded();
    const before = lines;
    lines = progress.lines;
    return isOver || lines > before;
  };
  while (!isOver) await bench.until(getsOn, "the jobs get on");
  await thawing;
  assert(disturbances > 2, `only ${disturbances} disturbances: nothing was tested`);
  await sagas.account(disturbances * CONCURRENCY);
}
