/**
 * Expiry: a job that did not start in time is dropped.
 *
 * @module
 */
import type { Payload } from "./job.ts";
import { readWireTime } from "./raw.ts";

/**
 * Whether a job comes too late: `expires_in` seconds after it was enqueued (a scheduled one: after its time had come) it
 * has still not started. A retry has started before, and so may have a rescued job: these do not expire.
 *
 * @param now epoch milliseconds
 */
export function isExpired(payload: Payload, now: number): boolean {
  const { expires_in: seconds, retry_count: failures, suspected } = payload;
  if (typeof seconds !== "number" || failures !== undefined || suspected !== undefined) return false;
  const since = readWireTime(payload.enqueued_at) ?? readWireTime(payload.created_at);
  return since !== undefined && now - since > seconds * 1_000;
}
