/**
 * Repeats calls of the soak itself to a store that it disturbs.
 *
 * @module
 */
import { StoreError } from "../../src/store/port/errors.ts";
import { pause, uptime } from "./uptime.ts";

const WITHIN_MS = 120_000;

/** Repeats a call while the store is down. */
export async function insist<T>(ask: () => Promise<T>): Promise<T> {
  const end = uptime() + WITHIN_MS;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof StoreError && error.transient) || uptime() > end) throw error;
      await pause(100);
    }
  }
}

/** The verbs that change nothing. */
const READS = new Set([
  "page",
  "stats",
  "find",
  "get",
  "list",
  "read",
  "count",
  "members",
  "groups",
  "health",
]);

/** Returns the store with reads that are repeated while it is down: the soak's own must not end with it. */
export function insisting<Store extends object>(store: Store): Store {
  return new Proxy(store, {
    get: (target, name) => {
      const part: unknown = Reflect.get(target, name);
      if (typeof part === "function") return part.bind(target);
      return typeof part === "object" && part !== null ? insistingPart(part) : part;
    },
  });
}

function insistingPart(part: object): object {
  return new Proxy(part, {
    get: (target, name) => {
      const verb: unknown = Reflect.get(target, name);
      if (typeof verb !== "function") return verb;
      if (!READS.has(String(name))) return verb.bind(target);
      return (...args: unknown[]) => insist(() => verb.apply(target, args));
    },
  });
}
