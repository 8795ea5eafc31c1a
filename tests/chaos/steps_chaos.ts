/**
 * Durable steps while workers are killed, or frozen past the heartbeat timeout. `steps_soak.ts` does the same for minutes.
 *
 * @module
 */
import { assert } from "@std/assert";
import { Bench } from "../support/bench.ts";
import { type JobsProcess, MORTAL } from "../support/process.ts";
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
  /** Undefined: it is frozen, or its successor is starting. */
  const workers: (JobsProcess | undefined)[] = await Promise.all(Array.from({ length: WORKERS }, start));
  const sagas = await Sagas.push(bench, JOBS);

  const frozen = new Set<number>();
  let disturbances = 0;
  let disturbedAt = 0;
  const pending: Promise<void>[] = [];
  /** Kills a worker, or freezes the last one. The others work on meanwhile, and are disturbed next. */
  const disturb = (at: number) => {
    const worker = workers[at]!;
    workers[at] = undefined;
    const again = async () => {
      if (at !== WORKERS - 1) {
        worker.kill("SIGKILL");
        workers[at] = await start();
        return;
      }
      frozen.add(worker.pid);
      await freezePastTimeout(bench, worker);
      workers[at] = worker;
    };
    pending.push(again());
  };
  let lines = 0;
  let isOver = false;
  /** Disturbs and signals. Returns whether a handler noted something since the last call. */
  const getsOn = async () => {
    const progress = await sagas.progress();
    const inTurn = Array.from(workers, (_, i) => (disturbances + i) % WORKERS);
    const at = inTurn.find((i) => workers[i] !== undefined);
    if (at !== undefined && progress.steps - disturbedAt >= EVERY) {
      disturbedAt = progress.steps;
      disturbances++;
      disturb(at);
    }
    isOver = await sagas.haveEnded();
    const before = lines;
    lines = progress.lines;
    return isOver || lines > before;
  };
  while (!isOver) await bench.until(getsOn, "the jobs get on");
  await Promise.all(pending);
  assert(disturbances > 2, `only ${disturbances} disturbances: nothing was tested`);
  await sagas.account(disturbances * CONCURRENCY, frozen);
}
