/**
 * Limits of queues: how many of a queue's jobs run at once, and how many start in a time, all processes of this program
 * together. They are kept in the store, so that they hold everywhere as soon as they are set, and are counted from what
 * is there: a slot is a lease, and is free when the lease is gone, however it went. Nothing has to be given back by
 * somebody who may be dead by then.
 *
 * Sidekiq's own workers know nothing of them: they take what they like, and what they take does not count.
 *
 * @module
 */
import { parseDuration } from "../../job/duration.ts";

/** What a queue is limited to. */
export interface QueueLimit {
  /** At most so many of its jobs run at once, 1 to {@linkcode MAX_RUNNING}. Absent: as many as are taken. */
  readonly running?: number;
  /** At most so many of its jobs start in a time. Absent: as many as are taken. */
  readonly starts?: StartLimit;
}

/**
 * At most `count` jobs start within any `perMs` milliseconds, wherever that time begins: not twice as many around the
 * full minute. A job has started when a process has taken it, also if it gives it back.
 */
export interface StartLimit {
  /** 1 to {@linkcode MAX_STARTS}: each start of the time is remembered. */
  readonly count: number;
  /** 1 to {@linkcode MAX_WINDOW_MS}. */
  readonly perMs: number;
}

/** A limit, and how much of it is used. */
export interface LimitInfo extends QueueLimit {
  /** Jobs that count as running. */
  readonly taken: number;
  /** Jobs that have started within the time. */
  readonly started: number;
  /**
   * Milliseconds until the next job may start: 0 now, undefined as soon as one that runs has ended.
   */
  readonly freeInMs: number | undefined;
}

/** More would have to be counted, one by one, whenever a job is taken. */
export const MAX_RUNNING = 10_000;
/** As many moments are kept. */
export const MAX_STARTS = 10_000;
/** Thirty days. */
export const MAX_WINDOW_MS = 30 * 24 * 3_600_000;

/**
 * `5`: so many at once.
 *
 * @throws {RangeError} when it is none, or out of bounds
 */
export function parseRunning(text: string): number {
  const running = /^\d+$/.test(text.trim()) ? Number(text) : NaN;
  if (running >= 1 && running <= MAX_RUNNING) return running;
  throw new RangeError(`"${cut(text)}" is no number of jobs at once; wanted: 1 to ${MAX_RUNNING}`);
}

/**
 * `100/1m`, `5/s`: so many in a time.
 *
 * @throws {RangeError} when it is none, or out of bounds
 */
export function parseStarts(text: string): StartLimit {
  const [, count, unit, time] = /^\s*(\d+)\s*\/\s*(?:([a-z]+)|(\S+))\s*$/.exec(text) ?? [];
  try {
    const starts = { count: Number(count), perMs: parseDuration(time ?? `1${unit}`) };
    const isIn = starts.count >= 1 && starts.count <= MAX_STARTS && starts.perMs <= MAX_WINDOW_MS;
    if (isIn && starts.perMs >= 1) return starts;
  } catch {
    // Told below.
  }
  throw new RangeError(
    `"${
      cut(text)
    }" is no number of starts in a time; wanted: such as 100/1m or 5/s, 1 to ${MAX_STARTS} in up to 30 days`,
  );
}

/** `100/1m`: what {@linkcode parseStarts} reads as the same again. */
export function formatStarts({ count, perMs }: StartLimit): string {
  const [unit, ms] = UNITS.find(([, ms]) => perMs % ms === 0)!;
  return `${count}/${perMs / ms}${unit}`;
}

/** The largest first. */
const UNITS = [["d", 86_400_000], ["h", 3_600_000], ["m", 60_000], ["s", 1_000], ["ms", 1]] as const;

function cut(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}
