/**
 * How long something is kept, as payloads and classes say it: `result_ttl`, `failure_ttl`.
 *
 * @module
 */
import { parseDuration } from "./duration.ts";

/** Milliseconds; Infinity for -1, as long as there is room; undefined where nothing is said, or nothing that can be read. */
export function readTtl(value: unknown): number | undefined {
  if (value === undefined) return undefined;
  if (value === -1 || value === "-1") return Infinity;
  try {
    return parseDuration(String(value));
  } catch {
    return undefined;
  }
}
