/**
 * The fields that both stores read and change in a payload when they move a job. Any client may have written the payload,
 * so any field may have any type.
 *
 * @module
 */
import { type FieldTexts, getField } from "./raw.ts";

/** Returns the queue of a payload; `default` if it has none. */
export function queueNamedIn(payload: string): string {
  const queue = getField(payload, "queue");
  return typeof queue === "string" && queue !== "" ? queue : "default";
}

/** Returns the change that subtracts one failure, so that the next attempt uses none, as in Sidekiq. An invalid count stays. */
export function uncounted(payload: string): FieldTexts {
  const count = getField(payload, "retry_count");
  return Number.isSafeInteger(count) ? { retry_count: String(count as number - 1) } : {};
}
