/**
 * The three ways to run a job, chosen per class: inline, in the main loop; in a horse, a pooled child process; as a
 * program. Each is a handler function like any other, so that whoever performs jobs need not know which it is.
 *
 * @module
 */
import type { Program } from "../job/program.ts";
import type { Handler, HandlerFunction } from "./handler.ts";
import { HandlerError, Registry } from "./registry.ts";

/** What {@linkcode chooseExecutionModes} is told. */
export interface ExecutionModes {
  /** Classes that run in horses, beside those whose options say `isolate: true`; `*` for all that can. */
  readonly isolate: readonly string[];
  /** Performs a job in a horse. */
  readonly inHorse: HandlerFunction;
  readonly programs: readonly Program[];
  /** Makes the handler of a program. */
  readonly asProgram: (command: readonly string[]) => HandlerFunction;
}

/** The handlers, each performing its class in the way chosen for it. */
export interface ChosenMode {
  readonly registry: Registry;
  /** The modules that horses have to load; none: no horses are needed. */
  readonly modules: readonly string[];
  /** The classes that run outside of this process: in horses, or as programs. */
  readonly isolated: ReadonlySet<string>;
}

/**
 * Chooses how each class is run.
 *
 * @throws {HandlerError} when a class has two handlers, or one that horses cannot load
 */
export function chooseExecutionModes(handlers: Registry, ways: ExecutionModes): ChosenMode {
  const registry = new Registry();
  const modules = new Set<string>();
  const isolated = new Set<string>();
  for (const handler of handlers.list()) {
    const inHorse = isIsolated(handler, ways.isolate);
    if (inHorse) {
      modules.add(handler.source);
      isolated.add(handler.class);
    }
    registry.add(handler.class, inHorse ? ways.inHorse : handler.perform, handler.options, handler.source);
  }
  const unknown = ways.isolate.find((name) => name !== "*" && handlers.get(name) === undefined);
  if (unknown !== undefined) {
    throw new HandlerError(
      `"isolate" names class "${unknown}", which has no handler; handlers: ${handlers.classes().join(", ") || "none"}`,
    );
  }
  for (const { class: name, exec, ...options } of ways.programs) {
    registry.add(name, ways.asProgram(exec), options, `exec ${exec[0]}`);
    isolated.add(name);
  }
  return { registry, modules: [...modules], isolated };
}

function isIsolated(handler: Handler, classes: readonly string[]): boolean {
  const asked = classes.includes(handler.class) || handler.options.isolate === true;
  const inModule = handler.source !== "program";
  if (asked && !inModule) {
    throw new HandlerError(
      `Class "${handler.class}" is to run in a process of its own, but is defined in this program; wanted: in a module, loaded with loadHandlers`,
    );
  }
  return asked || (inModule && classes.includes("*") && handler.options.isolate !== false);
}
