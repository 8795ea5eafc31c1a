/**
 * Failure → what happens next. Sidekiq's rules, pure; only a delay that a class asked for is taken as it is, without
 * Sidekiq's jitter of up to ten seconds: who says one second means it.
 *
 * Source of the formula and of the limits: Sidekiq's wiki, "Error Handling", and its 8.x releases.
 *
 * @module
 */
import { parseDuration } from "./duration.ts";
import { verdictOf } from "./errors.ts";
import { failureCount, type Payload } from "./job.ts";
import { readWireTime } from "./raw.ts";

/** How a failed job goes on. */
export type Decision =
  | { readonly kind: "retry"; readonly delayMs: number }
  | { readonly kind: "snooze"; readonly delayMs: number; readonly problem?: string }
  /** Failed for good. `keep`: to the dead set; else it leaves without a trace. */
  | { readonly kind: "dead"; readonly keep: boolean }
  /** Dropped. */
  | { readonly kind: "discard" };

/** What a class may say about its retries. */
export interface RetryOptions {
  readonly retry?: boolean | number;
  readonly retry_for?: number | string;
  readonly dead?: boolean;
  readonly retryIn?: RetryIn;
}

/**
 * A class's own delay: seconds until the next try, after failure number `count` (0 for the first); `"kill"` or
 * `"discard"` to give up; anything else for the default.
 */
export type RetryIn = (count: number, error: unknown, payload: Payload) => number | "kill" | "discard" | undefined;

/** What a decision depends on. */
export interface Failure {
  readonly payload: Payload;
  readonly error: unknown;
  /** What the class says. What the payload says comes first. */
  readonly options: RetryOptions;
  /** Retries where neither says a number. */
  readonly maxRetries: number;
  readonly now: number;
  /** From 0 up to 1. */
  readonly random: () => number;
  /** Told of an error in `retryIn`; the default backoff is used then. */
  readonly onOptionError: (error: unknown) => void;
}

/** No retry is further away: count⁴ leaves the range of dates at some count. */
const MAX_DELAY_S = 3_650 * 86_400;

/** Decides how a failed job goes on. Never throws. */
export function decide(failure: Failure): Decision {
  const { payload } = failure;
  const dead: Decision = { kind: "dead", keep: (payload.dead ?? failure.options.dead) !== false };
  const verdict = verdictOf(failure.error);
  if (verdict?.kind === "kill") return dead;
  if (verdict !== undefined) return verdict;
  const retries = retriesOf(failure);
  // Sidekiq: a job that is never retried vanishes; one with 0 retries goes to dead at once.
  if (retries === false) return { kind: "discard" };
  const count = failureCount(payload);
  if (isExhausted(failure, retries, count)) return dead;
  const asked = askRetryIn(failure, count);
  if (asked === "kill") return dead;
  if (asked === "discard") return { kind: "discard" };
  const seconds = asked ?? defaultDelay(count, failure.random);
  return { kind: "retry", delayMs: Math.round(Math.min(seconds, MAX_DELAY_S) * 1_000) };
}

/** `true`, and what makes no sense, mean "as usual": what the class says, else the server's number. */
function retriesOf({ payload, options, maxRetries }: Failure): number | false {
  for (const said of [payload.retry, options.retry]) {
    if (said === false || Number.isInteger(said)) return said as number | false;
  }
  return maxRetries;
}

/** Over the number of retries, or, where a time is given, over the time since the first failure. */
function isExhausted({ payload, options, now }: Failure, retries: number, count: number): boolean {
  const spanMs = spanOf(payload.retry_for) ?? spanOf(options.retry_for);
  if (spanMs === undefined) return count >= retries;
  const failedAt = readWireTime(payload.failed_at) ?? now;
  return now > failedAt + spanMs;
}

/** Milliseconds of seconds or a duration; undefined for what is neither. */
function spanOf(value: unknown): number | undefined {
  if (typeof value === "number") return Number.isNaN(value) ? undefined : value * 1_000;
  try {
    return typeof value === "string" ? parseDuration(value) : undefined;
  } catch {
    return undefined;
  }
}

function askRetryIn({ options, error, payload, onOptionError }: Failure, count: number) {
  try {
    const asked = options.retryIn?.(count, error, payload);
    return asked === "kill" || asked === "discard" || (typeof asked === "number" && asked > 0) ? asked : undefined;
  } catch (optionError) {
    onOptionError(optionError);
    return undefined;
  }
}

/** Seconds: count⁴ + 15, and jitter so that jobs which failed together do not come back together. */
function defaultDelay(count: number, random: () => number): number {
  return count ** 4 + 15 + Math.floor(random() * 10 * (count + 1));
}
