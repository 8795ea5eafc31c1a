/**
 * The store of a test: SQLite in memory, on the clock of the test.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import type { Store } from "../store/admin/store.ts";
import { openStore } from "../store/open.ts";
import type { NewJob } from "../store/port/jobs.ts";

/**
 * Returns a store that its first verb opens: a client is created without waiting, and a runtime without `node:sqlite` can load
 * this module.
 *
 * @param onStored called with each new job that a push has stored
 */
export function memoryStore(clock: Clock, onStored: (job: NewJob) => void): Store {
  let opening: Promise<Store> | undefined;
  const open = async (): Promise<Store> => {
    const store = await openStore("sqlite::memory:", { clock }).catch((error) => {
      if (error.code !== "ERR_UNKNOWN_BUILTIN_MODULE") throw error;
      throw new Error("Tests with jobs need SQLite: expected Deno, or Node 22.13 or later", { cause: error });
    });
    const enqueue = async (jobs: readonly NewJob[]) => {
      const results = await store.jobs.enqueue(jobs);
      for (const [i, result] of results.entries()) {
        if (result.kind === "stored") onStored(jobs[i]!);
      }
      return results;
    };
    return { ...store, jobs: { ...store.jobs, enqueue } };
  };
  const verb = (part: string, name: string) => async (...args: unknown[]) => {
    const store = await (opening ??= open()) as unknown as Record<
      string,
      Record<string, (...args: unknown[]) => unknown>
    >;
    return await store[part]![name]!(...args);
  };
  return new Proxy({} as Store, {
    get: (_, part) => new Proxy({}, { get: (_, name) => verb(String(part), String(name)) }),
  });
}
