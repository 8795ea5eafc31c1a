/**
 * Jobs whose class this worker lacks: during a rolling deploy, old workers take jobs of new classes. Such a job waits in
 * `scheduled` without using an attempt, and is offered to the workers of its queue repeatedly. After a week it fails
 * as any other job.
 *
 * @module
 */
import type { RunningJob } from "../../handlers/running_job.ts";
import { isNamed } from "../../job/describe_error.ts";
import { readWireTime, setFields, wireTime } from "../../job/raw.ts";
import type { AttemptEnd } from "../../store/ops/outcome.ts";

/** A job waits for a handler for this long before its attempts count. */
export const MAX_HANDLER_WAIT_MS = 7 * 86_400_000;
const MIN_DELAY_MS = 5_000;
const MAX_DELAY_MS = 600_000;

/** Returns whether a class had no handler. Compares names: an isolated process throws another class of error. */
export function isHandlerMissing(error: unknown): boolean {
  return isNamed(error, "HandlerMissing");
}

/** The circumstances of an attempt that may have found no handler. */
export interface MissingHandler {
  readonly error: unknown;
  readonly now: number;
  readonly wire: 7 | 8;
  /** Returns a number from 0 up to 1. */
  readonly random: () => number;
}

/**
 * Returns the end of an attempt of a job that waits for a worker with its class; undefined for another failure, or after
 * {@linkcode MAX_HANDLER_WAIT_MS}. The delay grows with the time that the job has waited, from 5 s to 10 min.
 */
export function waitForHandler(
  { job }: RunningJob,
  { error, now, wire, random }: MissingHandler,
): Extract<AttemptEnd, { readonly kind: "snooze" }> | undefined {
  if (!isHandlerMissing(error)) return undefined;
  const since = readWireTime(job.payload.no_handler_since) ?? now;
  const waitedMs = Math.max(0, now - since);
  if (waitedMs >= MAX_HANDLER_WAIT_MS) return undefined;
  // Jitter spreads out jobs that found no handler at the same time.
  const delayMs = Math.min(Math.max(waitedMs / 2, MIN_DELAY_MS), MAX_DELAY_MS) * (0.75 + random() / 2);
  const payload = setFields(job.raw, {
    no_handler_since: wireTime(since, wire),
    enqueued_at: undefined,
    suspected: undefined,
  });
  return { kind: "snooze", delayMs: Math.round(delayMs), payload };
}
