/**
 * Limits of queues: how many of a queue's jobs run at once, and how many start within a period, in all workers together. The
 * store keeps them, so that they apply everywhere as soon as they are set. A slot is a lease, and is free when the lease no
 * longer exists, however it ended: no worker has to release a slot, which it couldn't do after its death.
 *
 * Sidekiq's workers don't respect limits, and the jobs that they take don't count.
 *
 * @module
 */
import { parseDuration } from "../../job/duration.ts";

/** The limit of a queue. */
export interface QueueLimit {
  /** Maximum number of jobs that run at once, 1 to {@linkcode MAX_RUNNING}. Absent: unlimited. */
  readonly running?: number;
  /** Maximum number of jobs that start within a period. Absent: unlimited. */
  readonly starts?: StartLimit;
}

/**
 * At most `count` jobs start within any `perMs` milliseconds: the period slides, so that a full minute doesn't allow twice as
 * many around it. A job has started when a worker has taken it, even if the worker releases it.
 */
export interface StartLimit {
  /** 1 to {@linkcode MAX_STARTS}: each start within the period is stored. */
  readonly count: number;
  /** 1 to {@linkcode MAX_WINDOW_MS}. */
  readonly perMs: number;
}

/** A limit, and how much of it is used. */
export interface LimitInfo extends QueueLimit {
  /** Jobs that count as running. */
  readonly taken: number;
  /** Jobs that have started within the period. */
  readonly started: number;
  /** Milliseconds until the next job may start: 0 now, undefined as soon as a running job ends. */
  readonly freeInMs: number | undefined;
}

/** Each take counts the running jobs one by one. */
export const MAX_RUNNING = 10_000;
/** Each start within the period is stored. */
export const MAX_STARTS = 10_000;
/** Thirty days. */
export const MAX_WINDOW_MS = 30 * 24 * 3_600_000;

/** The texts of {@linkcode parseStarts}; completes "expected …". */
export const STARTS_EXPECTED = `COUNT/DURATION, for example 100/1m or 5/s, 1 to ${MAX_STARTS} in up to 30 days`;

/**
 * Parses the number of jobs that start within a period: `100/1m`, `5/s`.
 *
 * @throws {RangeError} if it is invalid or out of bounds
 */
export function parseStarts(text: string): StartLimit {
  const [, count, unit, time] = /^\s*(\d+)\s*\/\s*(?:([a-z]+)|(\S+))\s*$/.exec(text) ?? [];
  try {
    const starts = { count: Number(count), perMs: parseDuration(time ?? `1${unit}`) };
    const isIn = starts.count >= 1 && starts.count <= MAX_STARTS && starts.perMs <= MAX_WINDOW_MS;
    if (isIn && starts.perMs >= 1) return starts;
  } catch {
    // Thrown below.
  }
  throw new RangeError(`Invalid number of starts "${cut(text)}": expected ${STARTS_EXPECTED}`);
}

/** Formats starts as {@linkcode parseStarts} reads them: `100/1m`. */
export function formatStarts({ count, perMs }: StartLimit): string {
  const [unit, ms] = UNITS.find(([, ms]) => perMs % ms === 0)!;
  return `${count}/${perMs / ms}${unit}`;
}

/** The largest first. */
const UNITS = [["d", 86_400_000], ["h", 3_600_000], ["m", 60_000], ["s", 1_000], ["ms", 1]] as const;

function cut(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}
