/**
 * The code that a step runs: a function, with its timeout, or a child job. Also the JSON text of the result.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import { InvalidPayload, Timeout } from "../job/errors.ts";
import { stringifyLossless } from "../job/json.ts";
import { MAX_STEP_CHARACTERS } from "../job/step.ts";
import { checkValue } from "../job/values.ts";
import type { NewJob } from "../store/port/jobs.ts";
import { StepError } from "./errors.ts";
import type { StepRun } from "./options.ts";
import type { StepJob, StepServices } from "./services.ts";

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

/**
 * Returns the JSON text of a result or cursor; empty for undefined.
 *
 * @throws {StepError} if the value isn't JSON, or the text is longer than {@linkcode MAX_STEP_CHARACTERS}
 */
export function resultText(name: string, value: unknown, label: "result" | "cursor" = "result"): string {
  if (value === undefined) return "";
  const text = jsonText(value, `${label} of step "${name}"`);
  if (text.length <= MAX_STEP_CHARACTERS) return text;
  throw new StepError(
    `The ${label} of step "${name}" has ${text.length} characters of JSON; at most ${MAX_STEP_CHARACTERS}: keep it elsewhere, and return where`,
  );
}

function jsonText(value: unknown, path: string): string {
  try {
    return checkValue(value, path) ? stringifyLossless(value)! : JSON.stringify(value);
  } catch (error) {
    if (error instanceof InvalidPayload) throw new StepError(`The ${error.message}`);
    throw error;
  }
}

/** A class that `defineJob` returned, or its name. */
export type ChildClass = { readonly class: string; readonly options?: Readonly<Record<string, unknown>> } | string;

/** The step that runs the child. Its payload has it as `parent`. */
interface ParentStep {
  readonly jid: string;
  readonly step: string;
}

/**
 * Returns the child, ready to be enqueued by the wait for it.
 *
 * @throws {StepError} if middleware stopped it, or an option makes no sense for a child
 */
export async function buildChild(
  build: StepServices["build"],
  parent: ParentStep,
  child: ChildClass,
  options: { readonly args: readonly unknown[] },
): Promise<NewJob> {
  const [className, classOptions] = typeof child === "string" ? [child] : [child.class, child.options];
  const { step } = parent;
  const job = await build({ ...classOptions, ...options, class: className, parent });
  if (job === undefined) throw new StepError(`Job "${className}" of step "${step}" was stopped by push middleware`);
  if (job.batch !== undefined) {
    throw new StepError(
      `Job "${className}" of step "${step}" has batch; a child counts as part of its parent: unset it`,
    );
  }
  const { unique, debounce, throttle, once } = job;
  const keys = Object.entries({ unique_for: unique, debounce, throttle, once });
  const [key] = keys.find(([, value]) => value !== undefined) ?? [];
  if (key !== undefined) {
    throw new StepError(`Job "${className}" of step "${step}" has ${key}; a child is pushed once anyway: unset it`);
  }
  return job;
}
