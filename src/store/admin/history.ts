/**
 * The part of the store port that tells of the past: how many jobs were finished on each day.
 *
 * @module
 */

/** One day, by UTC. */
export interface DayCount {
  /** `YYYY-MM-DD`. */
  readonly day: string;
  /** Finished, failures included. */
  readonly processed: number;
  /** Of those, how many failed. */
  readonly failed: number;
}

/** A day. */
export const DAY_MS = 24 * 3_600_000;
/** Days are kept so long. */
export const DAYS_KEPT_MS = 1_825 * DAY_MS;

/** The name of the day. */
export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** The names of the days from the one of `from` to the one of `to`. */
export function daysBetween(from: number, to: number): string[] {
  const days: string[] = [];
  for (let at = Math.floor(from / DAY_MS) * DAY_MS; at <= to; at += DAY_MS) days.push(dayOf(at));
  return days;
}
