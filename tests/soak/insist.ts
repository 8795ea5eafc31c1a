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
