/**
 * The OpenTelemetry context of the running code, which follows it across awaits.
 *
 * @module
 */
import { type Context, type ContextManager, ROOT_CONTEXT } from "@opentelemetry/api";
import { AsyncLocalStorage } from "node:async_hooks";

/** A context manager on `AsyncLocalStorage`. */
export class ActiveContext implements ContextManager {
  readonly #current = new AsyncLocalStorage<Context>();

  /** Returns the context of the running code. */
  active(): Context {
    return this.#current.getStore() ?? ROOT_CONTEXT;
  }

  /** Runs a function within a context. */
  with<Args extends unknown[], Run extends (...args: Args) => ReturnType<Run>>(
    context: Context,
    run: Run,
    thisArg?: ThisParameterType<Run>,
    ...args: Args
  ): ReturnType<Run> {
    return this.#current.run(context, () => run.apply(thisArg, args));
  }

  /** Returns a function that runs within a context. Any other value stays unchanged. */
  bind<Target>(context: Context, target: Target): Target {
    if (typeof target !== "function") return target;
    const current = this.#current;
    return function (this: unknown, ...args: unknown[]) {
      return current.run(context, () => target.apply(this, args));
    } as Target;
  }

  /** Does nothing: the manager is always enabled. */
  enable(): this {
    return this;
  }

  /** Resets the context of the running code. */
  disable(): this {
    this.#current.disable();
    return this;
  }
}
