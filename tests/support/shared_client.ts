/**
 * A client of PostgreSQL that several stores use, one after the other.
 *
 * @module
 */
import type { Client } from "../../src/store/postgres/client.ts";

/** A client that its store can't close. */
export interface SharedClient {
  readonly client: Client;
  /** Resolves when all of its calls have ended. */
  settled(): Promise<void>;
}

/** Returns the client with another clock, which the store can't close, and what waits for all of its calls. */
export function sharedClient(client: Client, clock: Client["clock"] = client.clock): SharedClient {
  const calls = new Set<Promise<unknown>>();
  const track = (call: unknown) => {
    if (!(call instanceof Promise)) return call;
    calls.add(call);
    void call.catch(() => {}).finally(() => calls.delete(call));
    return call;
  };
  const shared = new Proxy(client, {
    get(target, name) {
      if (name === "clock") return clock;
      if (name === "close") return () => Promise.resolve();
      const value = Reflect.get(target, name);
      return typeof value === "function" ? (...args: unknown[]) => track(value.apply(target, args)) : value;
    },
  });
  const settled = async () => {
    while (calls.size > 0) await Promise.allSettled(calls);
  };
  return { client: shared, settled };
}
