/**
 * What a failed job's payload says afterwards: the error, the times, the count. Everything else stays byte for byte.
 *
 * @module
 */
import { encodeBacktrace } from "./backtrace.ts";

import type { Described } from "./errors.ts";
import { failureCount, type Job } from "./job.ts";
import { setFields, wireTime } from "./raw.ts";

/** Longer messages are cut, as Sidekiq does. */
const LONGEST_MESSAGE = 10_000;

/** What happened. */
export interface FailureFacts {
  readonly error: Described;
  /** The queue the job was taken from. */
  readonly queue: string;
  readonly now: number;
  readonly wire: 7 | 8;
  /** Where retries go, if not to that queue. */
  readonly retryQueue?: string | undefined;
  /** Lines of the stack to keep; `true` for all. */
  readonly backtrace?: boolean | number | undefined;
}

/** The payload's text with the failure in it, and without `enqueued_at`. */
export function failedPayload(job: Job, facts: FailureFacts): string {
  const { error, now, wire } = facts;
  const count = failureCount(job.payload);
  const time = wireTime(now, wire);
  const lines = facts.backtrace === true ? error.stack : error.stack.slice(0, Number(facts.backtrace ?? 0));
  return setFields(job.raw, {
    queue: JSON.stringify(job.payload.retry_queue ?? facts.retryQueue ?? facts.queue),
    error_class: JSON.stringify(error.class.toWellFormed()),
    error_message: JSON.stringify(error.message.slice(0, LONGEST_MESSAGE).toWellFormed()),
    retry_count: String(count),
    ...(count === 0 || job.payload.failed_at === undefined ? { failed_at: time } : { retried_at: time }),
    ...(lines.length > 0 && { error_backtrace: JSON.stringify(encodeBacktrace(lines)) }),
    enqueued_at: undefined,
  });
}
