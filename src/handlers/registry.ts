/**
 * The registry: which handler performs which class.
 *
 * @module
 */
import { parseDuration } from "../job/duration.ts";
import { describeError } from "../job/describe_error.ts";
import { checkClassOptions } from "../job/payload.ts";
import {
  type Handler,
  type HandlerExport,
  type HandlerFunction,
  type HandlerOptions,
  isGenerator,
  type JobDefinition,
} from "./handler.ts";

/** Two handlers for one class, or one that is no function. The message is one line for people. */
export class HandlerError extends Error {
  /** Told apart by name. */
  override readonly name = "HandlerError";
}

/** Class → handler. */
export class Registry {
  readonly #handlers: Map<string, Handler>;

  /**
   * A registry.
   *
   * @param other its handlers are in this one, too
   */
  constructor(other?: Registry) {
    this.#handlers = new Map(other?.list().map((handler) => [handler.class, handler]));
  }

  /**
   * Registers what performs a class.
   *
   * @param options default: those on the function
   * @param source where it comes from, for people
   * @throws {HandlerError} when the class has a handler already, it is a generator, or its options are not as they should be
   */
  add(
    name: string,
    perform: HandlerExport,
    options: HandlerOptions = perform?.options ?? {},
    source = "program",
  ): this {
    if (typeof name !== "string" || name === "") {
      throw new HandlerError(
        `A handler in ${source} has no name: ${JSON.stringify(name)}; wanted: the class it performs`,
      );
    }
    if (typeof perform !== "function") {
      throw new HandlerError(`Class "${name}" in ${source} has no function to perform it; wanted: (ctx, …args) => …`);
    }
    if (isGenerator(perform)) {
      throw new HandlerError(
        `Class "${name}" in ${source} is a generator (function*), and calling it runs nothing of it; wanted: an async function, or do not export it`,
      );
    }
    const known = this.#handlers.get(name);
    if (known !== undefined) {
      throw new HandlerError(
        `Class "${name}" has two handlers: in ${known.source} and in ${source}; rename one of them`,
      );
    }
    checkOptions(name, options, source);
    const timeoutMs = options.timeout === undefined ? undefined : parseDuration(String(options.timeout));
    this.#handlers.set(name, {
      class: name,
      perform: perform as HandlerFunction,
      options,
      source,
      timeoutMs,
    });
    return this;
  }

  /**
   * Registers jobs defined with `defineJob`.
   *
   * @throws {HandlerError} when a class has a handler already
   */
  // deno-lint-ignore no-explicit-any -- definitions with any arguments
  define(...jobs: readonly JobDefinition<any>[]): this {
    for (const job of jobs) this.add(job.class, job, job.options);
    return this;
  }

  /** The handler of a class. */
  get(name: string): Handler | undefined {
    return this.#handlers.get(name);
  }

  /** All handlers, by class. */
  list(): Handler[] {
    return [...this.#handlers.values()].sort((a, b) => a.class < b.class ? -1 : 1);
  }

  /** The classes that have a handler, in order. */
  classes(): string[] {
    return this.list().map((handler) => handler.class);
  }

  /** The queues that handlers name in their options. */
  queues(): string[] {
    return [...new Set(this.list().map((handler) => handler.options.queue ?? "default"))];
  }
}

/** An invalid option fails the start, instead of each push. */
function checkOptions(name: string, options: HandlerOptions, source: string): void {
  try {
    checkClassOptions(name, options);
  } catch (error) {
    throw new HandlerError(`Options of class "${name}" in ${source}: ${describeError(error).message}`);
  }
}
