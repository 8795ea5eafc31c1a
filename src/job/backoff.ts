/**
 * Failure → what happens next. Sidekiq's rules, pure.
 *
 * Source of the formula and of the limits: Sidekiq's wiki, "Error Handling", and its 8.x releases.
 *
 * @module
 */
import { Discard, Kill, Snooze } from "./errors.ts";
import { failureCount, type Payload } from "./job.ts";
import { readWireTime } from "./raw.ts";

/** How a failed job goes on. */
export type Decision =
  | { readonly kind: "retry"; readonly delayMs: number }
  | { readonly kind: "snooze"; readonly delayMs: number }
  /** `keep`: to the dead set; else it leaves without a trace. */
  | { readonly kind: "dead"; readonly keep: boolean }
  | { readonly kind: "discard" };

/** What a class may say about its retries. */
export interface RetryOptions {
  readonly retry?: boolean | number;
  readonly retry_for?: number;
  readonly dead?: boolean;
  readonly retryIn?: (count: number, error: unknown) => number | "kill" | "discard" | undefined;
}

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

/** Decides how a failed job goes on. */
export function decide(failure: Failure): Decision {
  const { payload, error } = failure;
  if (error instanceof Snooze) return { kind: "snooze", delayMs: error.delayMs };
  if (error instanceof Discard) return { kind: "discard" };
  if (error instanceof Kill) return { kind: "dead", keep: true };
  const retry = effectiveRetry(failure);
  // Sidekiq: a job that is never retried vanishes; one with 0 retries goes to dead at once.
  if (retry === false) return { kind: "discard" };
  const keep = (payload.dead ?? failure.options.dead) !== false;
  const count = failureCount(payload);
  if (isExhausted(failure, retry, count)) return { kind: "dead", keep };
  const asked = askRetryIn(failure, count);
  if (asked === "kill") return { kind: "dead", keep };
  if (asked === "discard") return { kind: "discard" };
  return { kind: "retry", delayMs: delaySeconds(asked, count, failure.random) * 1_000 };
}

/** `true` in a payload means "as usual": what the class says, else the default. */
function effectiveRetry({ payload, options, maxRetries }: Failure): number | false {
  const said = payload.retry === undefined || payload.retry === true ? options.retry ?? true : payload.retry;
  return said === true ? maxRetries : said;
}

/** Over the number of retries, or, where a time is given, over the time since the first failure. */
function isExhausted({ payload, options, now }: Failure, retries: number, count: number): boolean {
  const seconds = payload.retry_for ?? options.retry_for;
  if (typeof seconds !== "number") return count >= retries;
  const failedAt = readWireTime(payload.failed_at) ?? now;
  return now - failedAt >= seconds * 1_000;
}

function askRetryIn({ options, error, onOptionError }: Failure, count: number) {
  try {
    const asked = options.retryIn?.(count, error);
    return asked === "kill" || asked === "discard" || (typeof asked === "number" && asked > 0) ? asked : undefined;
  } catch (optionError) {
    onOptionError(optionError);
    return undefined;
  }
}

/** count⁴ + 15 seconds, and jitter so that jobs which failed together do not come back together. */
function delaySeconds(asked: number | undefined, count: number, random: () => number): number {
  if (asked !== undefined) return asked;
  return count ** 4 + 15 + Math.floor(random() * 10 * (count + 1));
}
