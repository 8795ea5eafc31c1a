/**
 * Chooses the execution mode of each class: inline, in the worker's main thread; in a horse, a pooled child process; or as
 * an external program. Each mode is an ordinary handler function, so that a processor need not distinguish them.
 *
 * @module
 */
import type { Program } from "../job/program.ts";
import type { Handler, HandlerFunction } from "./handler.ts";
import { programProblem } from "./isolation/program_user.ts";
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
  readonly programs: readonly Program[];
  readonly asProgram: (program: Program) => HandlerFunction;
}

/** The handlers, each in the mode of its class. */
export interface ChosenMode {
  readonly registry: Registry;
  /** The classes that run outside this process: in horses, or as programs. */
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
    registry.add(handler.class, inHorse ?? handler.perform, handler.options, handler.source);
  }
  const unknown = modes.isolate.find((name) => name !== "*" && handlers.get(name) === undefined);
  if (unknown !== undefined) {
    throw new ModeError(
      `"isolate" names class "${unknown}", which has no handler; handlers: ${handlers.classes().join(", ") || "none"}`,
    );
  }
  for (const program of modes.programs) {
    const { class: name, exec, env: _env, cwd: _cwd, user: _user, ...options } = program;
    const problem = programProblem(program);
    if (problem !== undefined) throw new ModeError(problem);
    try {
      registry.add(name, modes.asProgram(program), options, `exec ${exec[0]}`);
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
