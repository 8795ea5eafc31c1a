/**
 * What both stores read of a payload's text, and write into it, when they move a job. Others may have written it: any
 * field may be anything.
 *
 * @module
 */
import { type FieldTexts, getField } from "./raw.ts";

/** The queue that a payload names; `default` when it names none. */
export function queueNamedIn(payload: string): string {
  const queue = getField(payload, "queue");
  return typeof queue === "string" && queue !== "" ? queue : "default";
}

/** One failure less, so that the try to come does not use one up, as Sidekiq has it. What is no count stays. */
export function uncounted(payload: string): FieldTexts {
  const count = getField(payload, "retry_count");
  return Number.isSafeInteger(count) ? { retry_count: String(count as number - 1) } : {};
}
