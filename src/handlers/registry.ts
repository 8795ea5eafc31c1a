/**
 * The registry of handlers, by class.
 *
 * @module
 */
import { parseDuration } from "../job/duration.ts";
import { describeError } from "../job/describe_error.ts";
import { isInternalClass, PUBLIC_CLASS_EXPECTED } from "../job/internal_class.ts";
import { checkClassOptions } from "../job/payload.ts";
import {
  type Handler,
  type HandlerExport,
  type HandlerFunction,
  type HandlerOptions,
  isGenerator,
  type JobDefinition,
} from "./handler.ts";

/**
 * A handler is invalid, or a class has two handlers. The message is one line for people.
 *
 * @example
 * ```ts
 * import { HandlerError, Registry } from "@jobs/jobs";
 *
 * const registry = new Registry().add("Mail", () => {});
 * try {
 *   registry.add("Mail", () => {});
 * } catch (error) {
 *   if (!(error instanceof HandlerError)) throw error; // two handlers for one class
 * }
 * ```
 */
export class HandlerError extends Error {
  /** `HandlerError`. */
  override readonly name: string = "HandlerError";
}

/**
 * The handlers of a worker, one for each class.
 *
 * @example
 * ```ts
 * import { Registry, startServer } from "@jobs/jobs";
 *
 * const registry = new Registry().add("Billing::InvoiceJob", (_ctx, order) => `invoice ${order}`, { queue: "billing" });
 * await using server = await startServer({ store: "sqlite::memory:", registry, log: false });
 * ```
 */
export class Registry {
  readonly #handlers: Map<string, Handler>;

  /**
   * Creates a registry.
   *
   * @param other its handlers are copied
   */
  constructor(other?: Registry) {
    this.#handlers = new Map(other?.list().map((handler) => [handler.class, handler]));
  }

  /**
   * Registers the handler of a class.
   *
   * @param options default: the property `options` of the function
   * @param source the file or program that defines it, for messages
   * @throws {HandlerError} if the class has a handler already, the function is a generator, an option is invalid, or jobs performs the
   * class itself
   */
  add(
    name: string,
    perform: HandlerExport,
    options: HandlerOptions = perform?.options ?? {},
    source = "program",
  ): this {
    if (typeof name !== "string" || name === "") {
      throw new HandlerError(
        `A handler in ${source} has no name: ${JSON.stringify(name)}; expected the class that it performs`,
      );
    }
    if (typeof perform !== "function") {
      throw new HandlerError(`Class "${name}" in ${source} has no function to perform it; expected (ctx, …args) => …`);
    }
    if (isGenerator(perform)) {
      throw new HandlerError(
        `Class "${name}" in ${source} is a generator (function*), whose call doesn't run its body; use an async function, or don't export it`,
      );
    }
    if (isInternalClass(name)) {
      throw new HandlerError(`Class "${name}" in ${source} is internal; expected ${PUBLIC_CLASS_EXPECTED}`);
    }
    return this.#set({ name, perform: perform as HandlerFunction, options, source });
  }

  /**
   * @internal Registers the handler of a class that the configuration defines, also of an internal one.
   *
   * @throws {HandlerError} as {@linkcode add}
   */
  addInternal(name: string, perform: HandlerFunction, options: HandlerOptions, source: string): this {
    return this.#set({ name, perform, options, source });
  }

  #set(
    { name, perform, options, source }: {
      readonly name: string;
      readonly perform: HandlerFunction;
      readonly options: HandlerOptions;
      readonly source: string;
    },
  ): this {
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
      perform,
      options,
      source,
      timeoutMs,
    });
    return this;
  }

  /**
   * Registers jobs that `defineJob` returned.
   *
   * @throws {HandlerError} if a class has a handler already
   */
  // deno-lint-ignore no-explicit-any -- definitions with any arguments
  define(...jobs: readonly JobDefinition<any>[]): this {
    for (const job of jobs) this.add(job.class, job, job.options);
    return this;
  }

  /** Returns the handler of a class. */
  get(name: string): Handler | undefined {
    return this.#handlers.get(name);
  }

  /** Returns all handlers, sorted by class. */
  list(): Handler[] {
    return [...this.#handlers.values()].sort((a, b) => a.class < b.class ? -1 : 1);
  }

  /** Returns the classes that have a handler, sorted. */
  classes(): string[] {
    return this.list().map((handler) => handler.class);
  }

  /** Returns the queues of all handlers. */
  queues(): string[] {
    return [...new Set(this.list().map((handler) => handler.options.queue ?? "default"))];
  }
}

/** Checks the options of a class, so that an invalid one fails the start and not each push. */
function checkOptions(name: string, options: HandlerOptions, source: string): void {
  try {
    checkClassOptions(name, options);
  } catch (error) {
    throw new HandlerError(`Options of class "${name}" in ${source}: ${describeError(error).message}`);
  }
}
