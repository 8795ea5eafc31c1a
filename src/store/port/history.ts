/**
 * How many jobs finished on each day.
 *
 * @module
 */

/** One day, by UTC. */
export interface DayCount {
  /** `YYYY-MM-DD`. */
  readonly day: string;
  /** Finished attempts, including failures. */
  readonly processed: number;
  /** How many of them failed. */
  readonly failed: number;
}

/** Milliseconds of a day. */
export const DAY_MS = 24 * 3_600_000;
/** How long the totals of a day are kept. */
export const DAYS_KEPT_MS = 1_825 * DAY_MS;

/** Returns the name of a day: `YYYY-MM-DD`. */
export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** Returns the names of the days from `from` to `to`, both epoch milliseconds. */
export function daysBetween(from: number, to: number): string[] {
  const days: string[] = [];
  for (let at = Math.floor(from / DAY_MS) * DAY_MS; at <= to; at += DAY_MS) days.push(dayOf(at));
  return days;
}
