/**
 * Durable steps, as a handler uses them (`ctx.step`, `ctx.sleep`, …).
 *
 * @module
 */
import type { JobClass } from "../job/definition.ts";
import type { JobOptions } from "../job/payload.ts";
import type { EachOptions, StepOptions, StepRun, WaitOptions } from "./options.ts";
import type { StepRunner } from "./runner.ts";

/**
 * Options of {@linkcode StepContext.run}: those of the child, and how long to wait for it. A name that is close to that of an option is
 * refused.
 */
export interface ChildOptions extends JobOptions {
  /** The step fails if the child hasn't ended after this time: seconds or a duration. Default 30d. */
  readonly giveUpAfter?: number | string;
}

/** Durable steps: parts of a job that complete once, however many attempts the job has. */
export interface StepContext {
  /**
   * Runs a part of the job once. The result is stored when the function ends. Every later attempt returns the stored
   * result instead of running the function again. If the process dies after the function ended and before the result is
   * stored, the function runs again: use `step.idempotencyKey` for effects in other systems.
   *
   * ```ts ignore
   * const card = await ctx.step("charge", ({ idempotencyKey }) => charge(id, { idempotencyKey }));
   * ```
   *
   * @param name names the step within the job; the same in every deploy, and used once in an attempt
   * @returns the result, a JSON value of at most 1 MiB
   * @throws {StepFailed} if the step has `retry`, and its last attempt failed
   * @throws {StepError} if the name is used twice, or the result isn't JSON or is too large
   */
  step<Value>(name: string, run: (step: StepRun) => Value, options?: StepOptions): Promise<Awaited<Value>>;

  /**
   * Continues the job after a time. Ends the attempt with an error, which the handler must not catch. No processor waits,
   * and no attempt is used. The time is measured by the store's clock, and never ends early.
   *
   * @param duration seconds, or `30s`, `2h`, `3d`
   */
  sleep(name: string, duration: number | string): Promise<void>;

  /**
   * Continues the job when a signal arrives (`client.signal`, `jobs signal KEY`), or when the time has passed. A signal
   * that arrived earlier is kept and ends the wait at once. Ends the attempt, as {@linkcode sleep} does.
   *
   * @returns the data of the signal; undefined if the time has passed
   */
  // deno-lint-ignore no-explicit-any -- the sender of the signal and the handler agree on the data
  waitFor<Data = any>(name: string, options: WaitOptions): Promise<Data | undefined>;

  /**
   * Runs another job, and continues with its result. The job is pushed once. Ends the attempt, as {@linkcode sleep} does.
   *
   * @throws {ChildFailed} if the child failed permanently, was cancelled or deleted, or has not ended after `giveUpAfter`
   */
  // deno-lint-ignore no-explicit-any -- as for a push
  run<Args extends readonly any[], Result = any>(
    name: string,
    job: JobClass<Args> | string,
    args: Args,
    options?: ChildOptions,
  ): Promise<Result>;

  /**
   * Calls a function for each item. A later attempt continues after the last item that was done. The cursor is stored
   * every second, on failure, and when the worker stops; then the job continues on another worker, without using an
   * attempt. After a crash, the items of the last second run again.
   *
   * ```ts ignore
   * await ctx.each("lines", (after) => linesOf(id, after), (line) => ship(line), { cursor: (line) => line.id });
   * ```
   *
   * @param source returns the items after the cursor; undefined for all
   * @returns the number of items
   */
  each<Item>(
    name: string,
    // deno-lint-ignore no-explicit-any -- what `cursor` returned
    source: (cursor: any) => Iterable<Item> | AsyncIterable<Item> | PromiseLike<Iterable<Item>>,
    run: (item: Item) => unknown,
    options?: EachOptions<Item>,
  ): Promise<number>;
}

/** The methods of a context that pass steps to a runner. */
export abstract class StepMethods implements StepContext {
  /** @throws {StepError} if the job can't use steps, or its handler has ended */
  protected abstract steps(): StepRunner;

  /** Rejects if there are no steps: a call in the callback of a timer that throws would end the program. */
  #use<Result>(run: (steps: StepRunner) => Promise<Result>): Promise<Result> {
    try {
      return run(this.steps());
    } catch (error) {
      return Promise.reject(error);
    }
  }

  step<Value>(name: string, run: (step: StepRun) => Value, options?: StepOptions): Promise<Awaited<Value>> {
    return this.#use((steps) => steps.step(name, run, options));
  }

  sleep(name: string, duration: number | string): Promise<void> {
    return this.#use((steps) => steps.sleep(name, duration));
  }

  // deno-lint-ignore no-explicit-any -- the sender of the signal and the handler agree on the data
  waitFor<Data = any>(name: string, options: WaitOptions): Promise<Data | undefined> {
    return this.#use((steps) => steps.waitFor(name, options)) as Promise<Data | undefined>;
  }

  // deno-lint-ignore no-explicit-any -- as for a push
  run<Args extends readonly any[], Result = any>(
    name: string,
    job: JobClass<Args> | string,
    args: Args,
    options?: ChildOptions,
  ): Promise<Result> {
    return this.#use((steps) => steps.run(name, job, args, options)) as Promise<Result>;
  }

  each<Item>(
    name: string,
    // deno-lint-ignore no-explicit-any -- what `cursor` returned
    source: (cursor: any) => Iterable<Item> | AsyncIterable<Item> | PromiseLike<Iterable<Item>>,
    run: (item: Item) => unknown,
    options?: EachOptions<Item>,
  ): Promise<number> {
    return this.#use((steps) => steps.each(name, source, run, options));
  }
}
