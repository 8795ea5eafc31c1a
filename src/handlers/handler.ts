/**
 * What a handler is: a function for the jobs of one class, with options.
 *
 * @module
 */
import type { OptionsOn } from "../job/options.ts";
import type { Middleware } from "../client/middleware.ts";
import type { JobContext } from "./context.ts";

/**
 * Performs one job. Returning (or resolving) is success, throwing (or rejecting) a failure that is tried again;
 * `Discard`, `Kill` and `Snooze` say otherwise.
 */
// deno-lint-ignore no-explicit-any -- what the arguments are is between those who push and this function
export type HandlerFunction<Args extends readonly any[] = readonly any[]> = (
  ctx: JobContext,
  ...args: Args
) => unknown;

/** Around performing. What it throws is a failure of the job. */
export type PerformMiddleware = Middleware<JobContext, unknown>;

/**
 * Options of a job class: defaults for its jobs, which a push may override. See docs/reference/job-options.md. Any other option is
 * written into each payload as it is.
 */
export interface HandlerOptions extends OptionsOn<"class"> {
  /** Any other option: each payload keeps it as it is. */
  readonly [option: string]: unknown;
}

/** A handler as registered. */
export interface Handler {
  /** The class it performs. */
  readonly class: string;
  /** The function. */
  readonly perform: HandlerFunction;
  /** How its jobs are pushed and treated. */
  readonly options: HandlerOptions;
  /** Where it comes from: a file, or `program`. For people. */
  readonly source: string;
  /** How long its jobs may run; undefined: as long as they like. */
  readonly timeoutMs: number | undefined;
}

/** A function with options on it, as modules export them: `HardJob.options = { queue: "low" }`. */
// deno-lint-ignore no-explicit-any -- as above
export type HandlerExport<Args extends readonly any[] = readonly any[]> = HandlerFunction<Args> & {
  options?: HandlerOptions;
};

/** What `defineJob` gives: the handler, its class's name and its options, with the types of its arguments. */
// deno-lint-ignore no-explicit-any -- as above
export interface JobDefinition<Args extends readonly any[]> extends HandlerFunction<Args> {
  /** The class's name. */
  readonly class: string;
  /** How its jobs are pushed and treated. */
  readonly options: HandlerOptions;
}

/**
 * Defines a job class with typed arguments, for programs that push and perform:
 *
 * ```ts
 * const Greet = defineJob("Greet", (_ctx, name: string, times: number) => `hello ${name}`.repeat(times));
 * // await client.push(Greet, ["bob", 2]);
 * ```
 *
 * @param name the class's name, as in payloads
 * @param perform what performs it
 * @param options how its jobs are pushed and treated
 * @throws {TypeError} when `perform` is a generator
 */
// deno-lint-ignore no-explicit-any -- as above
export function defineJob<Args extends readonly any[]>(
  name: string,
  perform: (ctx: JobContext, ...args: Args) => unknown,
  options: HandlerOptions = {},
): JobDefinition<Args> {
  if (isGenerator(perform)) {
    throw new TypeError(
      `Job "${name}" is a generator (function*), and calling it runs nothing of it; wanted: an async function`,
    );
  }
  const definition = (ctx: JobContext, ...args: Args) => perform(ctx, ...args);
  return Object.assign(definition, { class: name, options }) as JobDefinition<Args>;
}

/** A call of one makes an iterator, which nobody would ask for anything: its jobs would be done without a trace. */
export function isGenerator(value: object): boolean {
  return /^\[object (Async)?GeneratorFunction\]$/.test(Object.prototype.toString.call(value));
}
