/**
 * A stack as Sidekiq keeps it in a payload: JSON, deflated, base64.
 *
 * @module
 */
import { deflateSync } from "node:zlib";

/** Encodes the lines of a stack. */
export function encodeBacktrace(lines: readonly string[]): string {
  return deflateSync(JSON.stringify(lines)).toString("base64");
}
