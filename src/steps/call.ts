/**
 * Calls the function of a step, with its timeout.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import { Timeout } from "../job/errors.ts";
import type { StepRun } from "./options.ts";
import type { StepJob } from "./services.ts";

export interface StepCall {
  readonly name: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** Undefined for no timeout. */
  readonly timeoutMs: number | undefined;
}

/** One run without a timeout: the signal is that of the job, which makes it when it is first used. */
class Run implements StepRun {
  readonly idempotencyKey: string;
  readonly attempt: number;
  readonly #job: StepJob;

  constructor(job: StepJob, idempotencyKey: string, attempt: number) {
    this.#job = job;
    this.idempotencyKey = idempotencyKey;
    this.attempt = attempt;
  }

  get signal(): AbortSignal {
    return this.#job.signal;
  }
}

/**
 * Calls a step's function. With a timeout, returns a promise that rejects then, even if the function ignores its signal.
 *
 * @throws {Timeout}
 */
export function callStep(
  job: StepJob,
  clock: Clock,
  { name, attempt, timeoutMs }: StepCall,
  run: (step: StepRun) => unknown,
): unknown {
  const idempotencyKey = `${job.jid}:${name}`;
  if (timeoutMs === undefined) return run(new Run(job, idempotencyKey, attempt));
  return callWithin(job, clock, timeoutMs, (signal) => run({ idempotencyKey, attempt, signal }));
}

async function callWithin(
  job: StepJob,
  clock: Clock,
  timeoutMs: number,
  run: (signal: AbortSignal) => unknown,
): Promise<unknown> {
  const timedOut = new AbortController();
  const ended = new AbortController();
  const error = new Timeout(timeoutMs);
  const expiry = clock.sleep(timeoutMs, ended.signal).then(() => {
    if (ended.signal.aborted) return;
    timedOut.abort(error);
    throw error;
  });
  try {
    const running = Promise.resolve(run(AbortSignal.any([job.signal, timedOut.signal])));
    return await Promise.race([running, expiry.then(() => running)]);
  } finally {
    // A reason spares an exception with a stack.
    ended.abort("ended");
  }
}
