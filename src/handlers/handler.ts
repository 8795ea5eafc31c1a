/**
 * What a handler is: a function for the jobs of one class, with options.
 *
 * @module
 */
import type { Payload } from "../job/job.ts";
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

/** How jobs of a class are pushed and treated; a push may say otherwise for one job. */
export interface HandlerOptions {
  /** The queue for jobs of this class; default `default`. */
  readonly queue?: string;
  /** How often a failed job is tried again: a number, `true` for the server's default (25), `false` for never. */
  readonly retry?: boolean | number;
  /** How long after the first failure it is tried again, instead of a number of times: seconds, or `30s`, `1h`. */
  readonly retry_for?: number | string;
  /** The queue for retries; default the job's own. */
  readonly retry_queue?: string;
  /** `false`: a job that failed for good is dropped, not kept in `dead`. */
  readonly dead?: boolean;
  /** Keep the stack of a failure with the job: `true`, or so many lines. */
  readonly backtrace?: boolean | number;
  /** How long a job may run: seconds, or `30s`, `5m`. What the push says comes first. Default: as long as it likes. */
  readonly timeout?: number | string;
  /** Dropped unless it starts within so long after it was enqueued: seconds, or `30s`, `5m`. */
  readonly expires_in?: number | string;
  /** Run it in a process of its own, a pooled one: it can be killed, and what it breaks is its own. */
  readonly isolate?: boolean;
  /** How long its result is kept: seconds, or `1h`; 0 not at all, -1 as long as there is room. Default: 500 seconds. */
  readonly result_ttl?: number | string;
  /** The same for how it failed for good. Default: a day. */
  readonly failure_ttl?: number | string;
  /** Lines of the log below it are dropped, its own and the server's about it: `debug`, `info`, `warn` or `error`. */
  readonly log_level?: string;
  /** Words shown with the job. */
  readonly tags?: readonly string[];
  /**
   * Not while a job with the same class, queue and arguments is there; for so long at most: seconds, or `30s`, `5m`.
   * Default: as many as are pushed.
   */
  readonly unique_for?: number | string;
  /**
   * Seconds until the next try, after failure number `count` (0 for the first); `"kill"` or `"discard"` to give up;
   * undefined for the default backoff.
   */
  readonly retryIn?: (
    count: number,
    error: unknown,
    payload: Payload,
  ) => number | "kill" | "discard" | undefined;
  /** Anything else is written into each payload as it is. */
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
