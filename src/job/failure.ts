/**
 * What a failed job's payload says afterwards: the error, the times, the count. Everything else stays byte for byte.
 *
 * @module
 */
import { encodeBacktrace } from "./backtrace.ts";
import type { Described } from "./errors.ts";
import { addError } from "./failure_history.ts";
import { failureCount, type Job } from "./job.ts";
import { setFields, wireTime } from "./raw.ts";

/** What happened. */
export interface FailureFacts {
  readonly error: Described;
  /** The queue the job was taken from. */
  readonly queue: string;
  readonly now: number;
  readonly wire: 7 | 8;
  /** Where retries go, if not to that queue; what the payload says comes first. */
  readonly retryQueue?: string | undefined;
  /** Lines of the stack to keep; `true` for all. */
  readonly backtrace?: boolean | number | undefined;
}

/** The payload's text with the failure in it, and without `enqueued_at`. */
export function failedPayload(job: Job, facts: FailureFacts): string {
  const { payload, raw } = job;
  const { error, now, wire } = facts;
  const count = failureCount(payload);
  const time = wireTime(now, wire);
  const errorClass = harmless(error.class.toWellFormed());
  const lines = facts.backtrace === true ? error.stack : error.stack.slice(0, lineCount(facts.backtrace));
  return setFields(raw, {
    queue: JSON.stringify(textOr(payload.retry_queue, facts.retryQueue ?? facts.queue)),
    error_class: JSON.stringify(errorClass),
    error_message: JSON.stringify(error.message),
    retry_count: String(count),
    // Sidekiq's pages want the first where the count is 0, the second where it is not.
    ...((count === 0 || payload.failed_at === undefined) && { failed_at: time }),
    ...(count > 0 && { retried_at: time }),
    ...(lines.length > 0 && { error_backtrace: JSON.stringify(encodeBacktrace(lines.map(harmless))) }),
    errors: addError(payload.errors, { class: errorClass, message: error.message }, count, now, wire),
    enqueued_at: undefined,
    // It has ended by itself.
    suspected: undefined,
  });
}

function lineCount(backtrace: boolean | number | undefined): number {
  return typeof backtrace === "number" && backtrace > 0 ? Math.floor(backtrace) : 0;
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === "string" && value !== "" ? value : otherwise;
}

/** Sidekiq's pages show class names and stacks unescaped. */
function harmless(text: string): string {
  return text.replaceAll("<", "‹").replaceAll(">", "›");
}
