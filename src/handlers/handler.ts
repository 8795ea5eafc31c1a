/**
 * A handler: a function that performs the jobs of one class, with options.
 *
 * @module
 */
import type { OptionsOn } from "../job/options.ts";
import type { Middleware } from "../client/middleware.ts";
import type { JobContext } from "./context.ts";

/**
 * Performs one job. The attempt succeeds if the function returns or resolves, and fails if it throws or rejects. A failed
 * job is retried, unless the function throws `Discard`, `Kill` or `Snooze`.
 */
// deno-lint-ignore no-explicit-any -- the pushing code and the function agree on the arguments
export type HandlerFunction<Args extends readonly any[] = readonly any[]> = (
  ctx: JobContext,
  ...args: Args
) => unknown;

/**
 * Wraps the performance of a job. An error that it throws fails the attempt.
 *
 * @example
 * ```ts
 * import { type PerformMiddleware } from "@jobs/jobs";
 *
 * const measure: PerformMiddleware = async (ctx, next) => {
 *   const start = performance.now();
 *   await next();
 *   ctx.log.info("Took", { ms: performance.now() - start });
 * };
 * ```
 */
export type PerformMiddleware = Middleware<JobContext, unknown>;

/**
 * Options of a job class: defaults for its jobs, which a push may override. See docs/reference/job-options.md.
 */
export interface HandlerOptions extends OptionsOn<"class"> {
  /** Any other option. It is written unchanged into each payload. */
  readonly [option: string]: unknown;
}

/** A registered handler. */
export interface Handler {
  /** The class that it performs. */
  readonly class: string;
  /** The function. */
  readonly perform: HandlerFunction;
  /** The options of its jobs. */
  readonly options: HandlerOptions;
  /** The file that defines it, or `program`. For messages. */
  readonly source: string;
  /** The timeout of its jobs in milliseconds; undefined for none. */
  readonly timeoutMs: number | undefined;
}

/** A function with options on it, as modules export them: `HardJob.options = { queue: "low" }`. */
// deno-lint-ignore no-explicit-any -- as above
export type HandlerExport<Args extends readonly any[] = readonly any[]> = HandlerFunction<Args> & {
  options?: HandlerOptions;
};

/**
 * A definition that `defineJob` returns: the handler with the name and options of its class, and the types of its arguments.
 *
 * @example
 * ```ts
 * import { defineJob, type JobDefinition } from "@jobs/jobs";
 *
 * const Greet: JobDefinition<[name: string]> = defineJob("Greet", (_ctx, name: string) => `Hello ${name}`);
 * console.log(Greet.class, Greet.options); // Greet {}
 * ```
 */
// deno-lint-ignore no-explicit-any -- as above
export interface JobDefinition<Args extends readonly any[]> extends HandlerFunction<Args> {
  /** The name of the class. */
  readonly class: string;
  /** The options of its jobs. */
  readonly options: HandlerOptions;
}

/**
 * Defines a job class with typed arguments, for programs that push and perform.
 *
 * @example
 * ```ts
 * import { Client, defineJob, openStore } from "@jobs/jobs";
 *
 * const Greet = defineJob("Greet", (_ctx, name: string, times: number) => `hello ${name}`.repeat(times));
 * await using store = await openStore("sqlite::memory:");
 * await new Client({ store }).push(Greet, ["bob", 2]); // the compiler checks the arguments
 * ```
 *
 * @param name the name of the class, as in payloads
 * @param perform the handler
 * @param options the options of its jobs
 * @throws {TypeError} if `perform` is a generator
 */
// deno-lint-ignore no-explicit-any -- as above
export function defineJob<Args extends readonly any[]>(
  name: string,
  perform: (ctx: JobContext, ...args: Args) => unknown,
  options: HandlerOptions = {},
): JobDefinition<Args> {
  if (isGenerator(perform)) {
    throw new TypeError(
      `Job "${name}" is a generator (function*), whose call doesn't run its body; use an async function`,
    );
  }
  const definition = (ctx: JobContext, ...args: Args) => perform(ctx, ...args);
  return Object.assign(definition, { class: name, options }) as JobDefinition<Args>;
}

/** Returns whether a function is a generator. Its call only creates an iterator: the job would succeed without running. */
export function isGenerator(value: object): boolean {
  return /^\[object (Async)?GeneratorFunction\]$/.test(Object.prototype.toString.call(value));
}
