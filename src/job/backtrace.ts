/**
 * A stack as Sidekiq keeps it in a payload: the JSON array of its lines, deflated, in base64.
 *
 * @module
 */
import { deflateSync, inflateSync } from "node:zlib";

/** No stack is larger; what unpacks to more was made to fill memory. */
const MAX_BYTES = 4 * 1024 * 1024;

/** Packs the lines of a stack. */
export function encodeBacktrace(lines: readonly string[]): string {
  return deflateSync(JSON.stringify(lines)).toString("base64");
}

/** Unpacks a payload's `error_backtrace`, also with the line breaks of Sidekiq 6; undefined when it is none. */
export function decodeBacktrace(text: unknown): string[] | undefined {
  if (typeof text !== "string") return undefined;
  try {
    const packed = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
    const lines: unknown = JSON.parse(inflateSync(packed, { maxOutputLength: MAX_BYTES }).toString());
    return Array.isArray(lines) && lines.every((line) => typeof line === "string") ? lines : undefined;
  } catch {
    return undefined;
  }
}
