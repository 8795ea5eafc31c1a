/**
 * Which span the running code is part of: OpenTelemetry's context, carried through whatever is awaited.
 *
 * @module
 */
import { type Context, type ContextManager, ROOT_CONTEXT } from "@opentelemetry/api";
import { AsyncLocalStorage } from "node:async_hooks";

/** Keeps the context. */
export class ActiveContext implements ContextManager {
  readonly #current = new AsyncLocalStorage<Context>();

  /** That of the running code. */
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

  /** A function that will run within a context; what is no function stays as it is. */
  bind<Target>(context: Context, target: Target): Target {
    if (typeof target !== "function") return target;
    const current = this.#current;
    return function (this: unknown, ...args: unknown[]) {
      return current.run(context, () => target.apply(this, args));
    } as Target;
  }

  /** It always is. */
  enable(): this {
    return this;
  }

  /** Forgets the context of the running code. */
  disable(): this {
    this.#current.disable();
    return this;
  }
}
