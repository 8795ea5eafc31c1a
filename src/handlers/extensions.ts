/**
 * Middleware and hooks that modules of handlers export: `performMiddleware`, `pushMiddleware`, `hooks`. An export of such a
 * name isn't a handler.
 *
 * @module
 */
import type { PushMiddleware } from "../client/middleware.ts";
import type { PerformMiddleware } from "./handler.ts";
import type { Hooks } from "./hooks.ts";
import { HandlerError } from "./registry.ts";

const HOOKS: ReadonlySet<string> = new Set<keyof Hooks>([
  "startup",
  "quiet",
  "shutdown",
  "heartbeat",
  "error",
  "death",
]);
/** Names that other systems use. As a class, the function would be ignored. */
const LOOKALIKE = /^(?:(?:perform|push|server|client|batch|job)M|m)iddlewares?$|^hooks?$/;

// deno-lint-ignore no-explicit-any -- hooks have different parameters
type Hook = (...args: any[]) => unknown;

/** Collects the middleware and the hooks of modules, in the order in which they are loaded. */
export class Extensions {
  /** Around each job; the first is the outermost. */
  readonly performMiddleware: PerformMiddleware[] = [];
  /** Around each push of the worker and its handlers. */
  readonly pushMiddleware: PushMiddleware[] = [];
  readonly #hooks = new Map<string, Hook[]>();

  /**
   * Adds an export of a module.
   *
   * @returns false if its name isn't that of an extension
   * @throws {HandlerError} if its value is invalid, or its name is almost that of an extension
   */
  add(name: string, value: unknown, file: string): boolean {
    if (name === "performMiddleware" || name === "pushMiddleware") {
      for (const layer of Array.isArray(value) ? value : [value]) {
        if (typeof layer !== "function" || "class" in layer) {
          throw new HandlerError(
            `Handlers "${file}": its export "${name}" isn't middleware; expected a function (context, next) => next(), or a list of them`,
          );
        }
        // A module that is named twice, or exports that of another module again, has one layer.
        const layers = this[name] as unknown[];
        if (!layers.includes(layer)) layers.push(layer);
      }
      return true;
    }
    if (name === "hooks") {
      this.#addHooks(value, file);
      return true;
    }
    if (typeof value !== "function" && (typeof value !== "object" || value === null) || !LOOKALIKE.test(name)) {
      return false;
    }
    const expected = /hook/.test(name) ? "hooks" : "performMiddleware or pushMiddleware";
    throw new HandlerError(
      `Handlers "${file}": unknown export "${name}"; expected ${expected}. A class of this name goes into: export const handlers = { ${name} }`,
    );
  }

  /** One function for each hook, which calls those of all modules. */
  get hooks(): Hooks {
    return Object.fromEntries(
      [...this.#hooks].map(([name, calls]) => [name, (...args: unknown[]) => callAll(calls, args)]),
    );
  }

  #addHooks(value: unknown, file: string): void {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw new HandlerError(
        `Handlers "${file}": its export "hooks" isn't an object; expected { death: (payload, error) => … }`,
      );
    }
    for (const [name, call] of Object.entries(value)) {
      if (!HOOKS.has(name)) {
        throw new HandlerError(`Handlers "${file}": unknown hook "${name}"; expected ${[...HOOKS].join(", ")}`);
      }
      if (typeof call !== "function") {
        throw new HandlerError(`Handlers "${file}": hook "${name}" isn't a function; expected () => …`);
      }
      const calls = this.#hooks.get(name) ?? [];
      if (!calls.includes(call)) this.#hooks.set(name, [...calls, call]);
    }
  }
}

/**
 * Calls functions one after the other, also after one that throws.
 *
 * @throws {Error} what the first of them threw, or all errors if several did
 */
async function callAll(calls: readonly Hook[], args: readonly unknown[]): Promise<void> {
  const errors: unknown[] = [];
  for (const call of calls) {
    try {
      await call(...args);
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length === 1) throw errors[0];
  if (errors.length > 1) throw new AggregateError(errors, errors.map((error) => `${error}`).join("; "));
}
