/**
 * A store whose verbs a test can count, delay, fail or replace.
 *
 * @module
 */
import type { Store } from "../../src/store/admin/store.ts";

/** A call of a verb, before it reaches the store. */
export interface Call {
  /** `jobs.take`, `admin.page`, … */
  readonly verb: string;
  readonly args: readonly unknown[];
  /** Forwards the call to the store. */
  readonly pass: () => Promise<unknown>;
}

/** Wraps a store. `around` decides about each call of a verb. */
export function interceptStore(store: Store, around: (call: Call) => Promise<unknown>): Store {
  const part = (name: string, target: object) =>
    new Proxy(target, {
      get(_, verb) {
        const member = Reflect.get(target, verb);
        if (typeof member !== "function" || typeof verb !== "string") return member;
        return (...args: unknown[]) =>
          around({ verb: `${name}.${verb}`, args, pass: () => Reflect.apply(member, target, args) });
      },
    });
  return new Proxy(store, {
    get(_, name) {
      const member = Reflect.get(store, name);
      return typeof member === "object" && member !== null && typeof name === "string" ? part(name, member) : member;
    },
  });
}
