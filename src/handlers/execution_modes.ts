/**
 * Chooses the execution mode of each class: inline, in the worker's main thread; in a horse, a pooled child process; as
 * an external program; or by HTTP. Each mode is an ordinary handler function, so that a processor need not distinguish them.
 *
 * @module
 */
import type { Handler, HandlerFunction, HandlerOptions } from "./handler.ts";
import { HandlerError, Registry } from "./registry.ts";

/** The settings contradict the handlers: another start can't help. */
export class ModeError extends HandlerError {
  override readonly name = "ModeError";
}

export interface ExecutionModes {
  /** Classes that run in horses, besides those with `isolate: true`; `*` for all that can. */
  readonly isolate: readonly string[];
  /** Performs a job in a horse. Absent if no class needs one. */
  readonly inHorse?: HandlerFunction | undefined;
  /** The classes that the configuration maps to programs and HTTP endpoints. */
  readonly outside: readonly OutsideClass[];
}

/** A class whose jobs code outside of this program performs. */
export interface OutsideClass {
  readonly class: string;
  readonly perform: HandlerFunction;
  readonly options: HandlerOptions;
  /** The program or URL, for messages. */
  readonly source: string;
  /** Whether it delivers to a webhook: a class that only this program has jobs of. */
  readonly isInternal?: boolean;
}

/** The handlers, each in the mode of its class. */
export interface ChosenMode {
  readonly registry: Registry;
  /** The classes that run outside this process: in horses, as programs, or by HTTP. */
  readonly isolated: ReadonlySet<string>;
}

/**
 * Returns the modules that horses must load; none if no class needs a horse.
 *
 * @throws {ModeError} if a class can't be loaded by a horse
 */
export function isolatedModules(handlers: Registry, isolate: readonly string[]): string[] {
  const isolated = handlers.list().filter((handler) => isIsolated(handler, isolate));
  return [...new Set(isolated.map(({ source }) => source))];
}

/**
 * Chooses the mode of each class.
 *
 * @throws {ModeError} if a class has two handlers, one that horses cannot load, or a program that can't run here
 */
export function chooseExecutionModes(handlers: Registry, modes: ExecutionModes): ChosenMode {
  const registry = new Registry();
  const isolated = new Set<string>();
  for (const handler of handlers.list()) {
    const inHorse = isIsolated(handler, modes.isolate) ? modes.inHorse : undefined;
    if (inHorse) isolated.add(handler.class);
    // Each was checked when it was added.
    registry.addInternal(handler.class, inHorse ?? handler.perform, handler.options, handler.source);
  }
  const unknown = modes.isolate.find((name) => name !== "*" && handlers.get(name) === undefined);
  if (unknown !== undefined) {
    throw new ModeError(
      `"isolate" names class "${unknown}", which has no handler; handlers: ${handlers.classes().join(", ") || "none"}`,
    );
  }
  for (const { class: name, perform, options, source, isInternal = false } of modes.outside) {
    try {
      registry[isInternal ? "addInternal" : "add"](name, perform, options, source);
    } catch (error) {
      throw error instanceof HandlerError ? new ModeError(error.message) : error;
    }
    isolated.add(name);
  }
  return { registry, isolated };
}

function isIsolated(handler: Handler, classes: readonly string[]): boolean {
  const isRequested = classes.includes(handler.class) || handler.options.isolate === true;
  const inModule = handler.source !== "program";
  if (isRequested && !inModule) {
    throw new ModeError(
      `Class "${handler.class}" cannot run isolated, because it is defined in this program; define it in a module, and load that with loadHandlers`,
    );
  }
  return isRequested || (inModule && classes.includes("*") && handler.options.isolate !== false);
}
