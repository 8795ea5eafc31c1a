/**
 * Decides about failed jobs by Sidekiq's rules: retry, dead, or discard. One difference: a delay from `retryIn` or
 * `backoff` has none of Sidekiq's jitter of up to ten seconds, so that one second is one second.
 *
 * Source of the formula and of the limits: Sidekiq's wiki, "Error Handling", and its 8.x releases.
 *
 * @module
 */
import { describeError, showValue } from "./describe_error.ts";
import { parseDuration } from "./duration.ts";
import { InvalidPayload } from "./errors.ts";
import { verdictOf } from "./verdict.ts";
import { failureCount, type Payload } from "./job.ts";
import { readWireTime } from "./raw.ts";
import { readSpan } from "./time.ts";

export type Decision =
  | { readonly kind: "retry"; readonly delayMs: number }
  | { readonly kind: "snooze"; readonly delayMs: number; readonly problem?: string }
  /** Its retries are exhausted. With `keep` it moves to the dead set; otherwise it is dropped. */
  | { readonly kind: "dead"; readonly keep: boolean }
  | { readonly kind: "discard" };

/** Why a job is dead: see {@linkcode diedBy}. */
export type DiedBy = "handler" | "step" | "crash" | "payload" | "retry_for" | "retryIn" | `retries:${number}`;

/**
 * The delay before each retry. `count` is the number of earlier failures: 0 at the first.
 *
 * - `fixed`: `base`
 * - `linear`: `base` · (`count` + 1)
 * - `exponential`: `base` · 2^`count`
 */
export interface Backoff {
  /** How the delay grows. */
  readonly type: "exponential" | "linear" | "fixed";
  /** The first delay: seconds, or a duration such as `2s`. */
  readonly base: number | string;
  /** The longest delay; default none. */
  readonly max?: number | string;
  /** The share by which a delay varies at random, from 0 to 1: with 0.2, 10 s is 8 to 12 s. Default 0. */
  readonly jitter?: number;
}

/** The options of a class for its retries. */
export interface RetryOptions {
  readonly retry?: boolean | number;
  readonly retry_for?: number | string;
  readonly dead?: boolean;
  readonly backoff?: Backoff;
  readonly retryIn?: RetryIn;
}

/**
 * A function of a class that decides about retries; it may be async. It returns the time until the next attempt, as seconds
 * or a duration such as `"5m"`, or `"kill"` or `"discard"`. With undefined the usual backoff applies, and with an invalid
 * value too, which is logged. `count` is the number of earlier failures that count against the retries, 0 at the
 * first: `ctx.attempt` - 1, unless the job was retried by hand.
 */
export type RetryIn = (count: number, error: unknown, payload: Payload) => RetryChoice | PromiseLike<RetryChoice>;

/** The choice of a {@linkcode RetryIn}. */
export type RetryChoice = number | string | undefined;

/** A failure, with everything that the decision depends on. */
export interface Failure {
  readonly payload: Payload;
  readonly error: unknown;
  /** The options of the class. Those of the payload take precedence. */
  readonly options: RetryOptions;
  /** The number of retries if neither payload nor class sets one. */
  readonly maxRetries: number;
  readonly now: number;
  /** Returns a number from 0 up to 1. */
  readonly random: () => number;
  /** Receives an error that `retryIn` throws. The usual backoff applies then. */
  readonly onOptionError: (error: unknown) => void;
  /** Receives the problem of a value that `retryIn` returns. The usual backoff applies then. */
  readonly onInvalidChoice: (problem: string) => void;
}

/** The longest delay. Without it, count⁴ would leave the range of dates. */
const MAX_DELAY_S = 3_650 * 86_400;

/** Decides about a failed job. Returns a promise only if `retryIn` does. Neither throws nor rejects. */
export function decide(failure: Failure): Decision | Promise<Decision> {
  const { payload } = failure;
  const dead: Decision = { kind: "dead", keep: (payload.dead ?? failure.options.dead) !== false };
  const verdict = verdictOf(failure.error);
  if (verdict?.kind === "kill") return dead;
  if (verdict !== undefined) return verdict;
  const retries = retriesOf(failure);
  // As in Sidekiq: a job with `false` is dropped; a job with 0 retries is dead at once.
  if (retries === false) return { kind: "discard" };
  const count = failureCount(payload);
  if (isExhausted(failure, retries, count)) return dead;
  const choose = (given: unknown): Decision => {
    const chosen = readChoice(given, failure);
    if (chosen === "kill") return dead;
    if (chosen === "discard") return { kind: "discard" };
    const seconds = chosen ?? backoffDelay(failure, count) ?? defaultDelay(count, failure.random);
    return { kind: "retry", delayMs: Math.round(Math.min(seconds, MAX_DELAY_S) * 1_000) };
  };
  const failed = (error: unknown): Decision => {
    failure.onOptionError(error);
    return choose(undefined);
  };
  try {
    const given: unknown = failure.options.retryIn?.(count, failure.error, payload);
    if (given === null || typeof given !== "object" && typeof given !== "function") return choose(given);
    // Also a promise of another realm, and an object that throws when it is read.
    return Promise.resolve(given).then(choose, failed);
  } catch (error) {
    return failed(error);
  }
}

/** The errors of this library that end a job for good, in the payload of a dead job; others are those of its handler. */
const KILLERS: Readonly<Record<string, DiedBy>> = {
  StepFailed: "step",
  ChildFailed: "step",
  WorkerDied: "crash",
  Unperformable: "payload",
};

/**
 * Returns why a job is dead: its handler, a step, the end of its workers, its payload, the retries that it had, `retry_for`, or `retryIn`.
 * The payload keeps it: the options of the class and of the worker aren't in there.
 */
export function diedBy(failure: Failure): DiedBy {
  if (verdictOf(failure.error)?.kind === "kill") return KILLERS[describeError(failure.error).class] ?? "handler";
  const retries = retriesOf(failure);
  if (retries === false || !isExhausted(failure, retries, failureCount(failure.payload))) return "retryIn";
  return spanMsOf(failure) === undefined ? `retries:${retries}` : "retry_for";
}

/** Reads a returned value of `retryIn`; a time in seconds. Undefined if it chooses nothing, or is invalid. */
function readChoice(given: unknown, { onInvalidChoice }: Failure): number | "kill" | "discard" | undefined {
  if (given === undefined || given === "kill" || given === "discard") return given;
  const bounded = (seconds: number) => {
    if (seconds > MAX_DELAY_S) onInvalidChoice(`${showValue(given)}; expected at most 3650 days, which is used`);
    return seconds;
  };
  if (typeof given === "number" && given >= 0) return bounded(given);
  const ms = typeof given === "string" ? spanOf(given) : undefined;
  if (ms !== undefined) return bounded(ms / 1_000);
  onInvalidChoice(`${showValue(given)}; expected seconds, a duration such as 5m, "kill", "discard" or undefined`);
  return undefined;
}

/** Returns the number of retries. `true` and invalid values mean the number of the class, or else of the worker. */
function retriesOf({ payload, options, maxRetries }: Failure): number | false {
  for (const retry of [payload.retry, options.retry]) {
    if (retry === false || Number.isInteger(retry)) return retry as number | false;
  }
  return maxRetries;
}

/** Returns whether the retries are exhausted: by number or, with `retry_for`, by the time since the first failure. */
function isExhausted(failure: Failure, retries: number, count: number): boolean {
  const spanMs = spanMsOf(failure);
  if (spanMs === undefined) return count >= retries;
  const failedAt = readWireTime(failure.payload.failed_at) ?? failure.now;
  return failure.now > failedAt + spanMs;
}

/** Returns `retry_for` in milliseconds; undefined if the number of retries decides. */
function spanMsOf({ payload, options }: Failure): number | undefined {
  return spanOf(payload.retry_for) ?? spanOf(options.retry_for);
}

/** Returns seconds or a duration in milliseconds; undefined for any other value. */
function spanOf(value: unknown): number | undefined {
  if (typeof value === "number") return Number.isNaN(value) ? undefined : value * 1_000;
  try {
    return typeof value === "string" ? parseDuration(value) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns Sidekiq's delay in seconds: count⁴ + 15, plus jitter, which spreads out jobs that failed together. */
function defaultDelay(count: number, random: () => number): number {
  return count ** 4 + 15 + Math.floor(random() * 10 * (count + 1));
}

/** Returns the delay in seconds from the `backoff` of the payload, or else of the class; undefined if neither is valid. */
function backoffDelay({ payload, options, random }: Failure, count: number): number | undefined {
  for (const given of [payload["backoff"], options.backoff]) {
    const backoff = given === undefined ? undefined : validBackoff(given);
    if (backoff === undefined) continue;
    const { type, base, max = MAX_DELAY_S, jitter = 0 } = backoff;
    const factor = type === "fixed" ? 1 : type === "linear" ? count + 1 : 2 ** count;
    const varied = Math.min(base * factor, max) * (1 + jitter * (2 * random() - 1));
    return Math.min(varied, max);
  }
  return undefined;
}

/** Returns a backoff; undefined if it is invalid, as another client may have written the payload. */
function validBackoff(value: unknown): StoredBackoff | undefined {
  try {
    return readBackoff("backoff", value);
  } catch {
    return undefined;
  }
}

/** A backoff as payloads store it, its times in seconds. */
export interface StoredBackoff {
  readonly type: Backoff["type"];
  readonly base: number;
  readonly max?: number;
  readonly jitter?: number;
}

const BACKOFF_TYPES: readonly unknown[] = ["exponential", "linear", "fixed"];
const BACKOFF_FIELDS = ["type", "base", "max", "jitter"];

/**
 * Checks a `backoff` and returns it as payloads store it.
 *
 * @throws {InvalidPayload} if it is invalid; names the field, such as `backoff.base`
 */
export function readBackoff(field: string, value: unknown): StoredBackoff {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new InvalidPayload(field, value, 'an object such as { type: "exponential", base: "2s", max: "1h" }');
  }
  const { type, base, max, jitter } = value as Record<string, unknown>;
  const unknown = Object.keys(value).find((name) => !BACKOFF_FIELDS.includes(name));
  if (unknown !== undefined) {
    throw new InvalidPayload(field, unknown, `only the fields ${BACKOFF_FIELDS.join(", ")}`);
  }
  if (!BACKOFF_TYPES.includes(type)) throw new InvalidPayload(`${field}.type`, type, "exponential, linear or fixed");
  if (jitter !== undefined && !(typeof jitter === "number" && jitter >= 0 && jitter <= 1)) {
    throw new InvalidPayload(`${field}.jitter`, jitter, "a number from 0 to 1");
  }
  const baseSeconds = readSpan(`${field}.base`, base);
  const maxSeconds = max === undefined ? undefined : readSpan(`${field}.max`, max);
  if (maxSeconds !== undefined && maxSeconds < baseSeconds) {
    throw new InvalidPayload(`${field}.max`, max, `at least ${field}.base`);
  }
  return {
    type: type as Backoff["type"],
    base: baseSeconds,
    ...(maxSeconds !== undefined && { max: maxSeconds }),
    ...(jitter !== undefined && { jitter }),
  };
}
