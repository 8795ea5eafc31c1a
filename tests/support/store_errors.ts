/**
 * The errors and the log lines of a store.
 *
 * @module
 */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type { StoreOptions } from "../../src/store/open.ts";
import { StoreError, type StoreErrorCode } from "../../src/store/port/errors.ts";

/** Asserts that `act` fails with this code, and with each of these parts in its one line. */
export async function fails(act: () => Promise<unknown>, code: StoreErrorCode, ...parts: string[]): Promise<void> {
  const error = await assertRejects(act, StoreError);
  assertEquals(error.code, code, error.message);
  for (const part of parts) assertStringIncludes(error.message, part);
  assert(!error.message.includes("\n") && !error.message.includes("s3cret"), error.message);
}

/** Returns an option `log` and the lines that it receives. */
export function collectLog(): { lines: string[]; log: NonNullable<StoreOptions["log"]> } {
  const lines: string[] = [];
  return { lines, log: (level, message) => lines.push(`${level}: ${message}`) };
}
