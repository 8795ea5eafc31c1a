/**
 * Durable steps, as a handler uses them. The runner is made with the first.
 *
 * @module
 */
import type { JobClass } from "../job/definition.ts";
import type { JobOptions } from "../job/payload.ts";
import type { EachOptions, StepOptions, StepRun, WaitOptions } from "./options.ts";
import type { StepRunner } from "./runner.ts";

/** Options of {@linkcode StepContext.run}: those of the child, and how long to wait for it. */
export interface ChildOptions extends JobOptions {
  /** The step fails if the child has not ended by then: seconds or a duration. Default 30d. */
  readonly giveUpAfter?: number | string;
}

/** Durable steps: parts of a job that are done once, however often it runs. */
export interface StepContext {
  /**
   * Runs a part of the job once. Its result is stored when it ends, and returned in every later attempt instead of
   * running the function again. A process that dies after the function ended and before the result is stored runs it
   * again: use `step.idempotencyKey` for effects elsewhere.
   *
   * ```ts ignore
   * const card = await ctx.step("charge", ({ idempotencyKey }) => charge(id, { idempotencyKey }));
   * ```
   *
   * @param name names the step within the job, in every deploy; used once in an attempt
   * @returns the result, a JSON value of at most 1 MiB
   * @throws {StepFailed} if it has `retry`, and its last attempt failed
   * @throws {StepError} if the name is used twice, or the result is not JSON or too large
   */
  step<Value>(name: string, run: (step: StepRun) => Value, options?: StepOptions): Promise<Awaited<Value>>;

  /**
   * Continues the job after a time. Ends the attempt by an error that must not be caught: no processor waits, no attempt
   * is used. It ends by the store's clock, never early.
   *
   * @param duration seconds, or `30s`, `2h`, `3d`
   */
  sleep(name: string, duration: number | string): Promise<void>;

  /**
   * Continues the job when a signal arrives (`client.signal`, `jobs signal KEY`), or when the time has passed. A signal
   * that came before is kept for it. Ends the attempt, as {@linkcode sleep} does.
   *
   * @returns the data of the signal; undefined if the time has passed
   */
  // deno-lint-ignore no-explicit-any -- what the data is is between those who signal and the handler
  waitFor<Data = any>(name: string, options: WaitOptions): Promise<Data | undefined>;

  /**
   * Runs another job, and continues with its result. It is pushed once. Ends the attempt, as {@linkcode sleep} does.
   *
   * @throws {ChildFailed} if the child failed for good, was cancelled or deleted, or has not ended after `giveUpAfter`
   */
  // deno-lint-ignore no-explicit-any -- as for a push
  run<Args extends readonly any[], Result = any>(
    name: string,
    job: JobClass<Args> | string,
    args: Args,
    options?: ChildOptions,
  ): Promise<Result>;

  /**
   * Calls a function for each item, and continues after the last one done in a later attempt. The cursor is stored every
   * second, on failure, and when the worker stops: then the job continues elsewhere, without using an attempt. After a
   * crash the items of the last second run again.
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

/** A context whose steps a runner runs. */
export abstract class StepMethods implements StepContext {
  /** Returns the runner. */
  protected abstract steps(): StepRunner;

  step<Value>(name: string, run: (step: StepRun) => Value, options?: StepOptions): Promise<Awaited<Value>> {
    return this.steps().step(name, run, options);
  }

  sleep(name: string, duration: number | string): Promise<void> {
    return this.steps().sleep(name, duration);
  }

  // deno-lint-ignore no-explicit-any -- what the data is is between those who signal and the handler
  waitFor<Data = any>(name: string, options: WaitOptions): Promise<Data | undefined> {
    return this.steps().waitFor(name, options) as Promise<Data | undefined>;
  }

  // deno-lint-ignore no-explicit-any -- as for a push
  run<Args extends readonly any[], Result = any>(
    name: string,
    job: JobClass<Args> | string,
    args: Args,
    options?: ChildOptions,
  ): Promise<Result> {
    return this.steps().run(name, job, args, options) as Promise<Result>;
  }

  each<Item>(
    name: string,
    // deno-lint-ignore no-explicit-any -- what `cursor` returned
    source: (cursor: any) => Iterable<Item> | AsyncIterable<Item> | PromiseLike<Iterable<Item>>,
    run: (item: Item) => unknown,
    options?: EachOptions<Item>,
  ): Promise<number> {
    return this.steps().each(name, source, run, options);
  }
}
