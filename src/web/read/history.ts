/**
 * Reads the totals of the last days.
 *
 * @module
 */
import { DAY_MS, type DayCount } from "../../store/port/history.ts";
import { HttpError } from "../http/body.ts";
import type { Services } from "../services.ts";

/** As many as the store keeps. */
const MAX_DAYS = 1_825;

/** Returns the totals of the latest days, today's last. Days are in UTC. */
export async function lastDays(services: Services, days: number): Promise<DayCount[]> {
  const now = services.clock.now();
  return await services.store.series.read("days", { from: now - (days - 1) * DAY_MS, to: now });
}

/**
 * Reads the number of days that a request names.
 *
 * @throws {HttpError} unless it is a whole number from 1 to 1,825
 */
export function parseDays(text: string | undefined, standard: number): number {
  const days = Number(text ?? standard);
  if (Number.isInteger(days) && days >= 1 && days <= MAX_DAYS) return days;
  throw new HttpError(
    422,
    `Invalid days "${text?.slice(0, 40)}": expected a whole number from 1 to ${MAX_DAYS}`,
    "days",
  );
}
