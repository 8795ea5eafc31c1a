/**
 * The days behind us, as a request asks for them.
 *
 * @module
 */
import { DAY_MS, type DayCount } from "../../store/admin/history.ts";
import { HttpError } from "../http/body.ts";
import type { Services } from "../services.ts";

/** The store keeps no more. */
const MAX_DAYS = 1_825;

/** The latest days, today's last; a day is one of UTC. */
export async function lastDays(services: Services, days: number): Promise<DayCount[]> {
  const now = services.clock.now();
  return await services.store.admin.history(now - (days - 1) * DAY_MS, now);
}

/**
 * How many days a request asks for.
 *
 * @throws {HttpError} when it is no such number
 */
export function parseDays(text: string | undefined, standard: number): number {
  const days = Number(text ?? standard);
  if (Number.isInteger(days) && days >= 1 && days <= MAX_DAYS) return days;
  throw new HttpError(422, `"days" is "${text?.slice(0, 40)}"; wanted: a whole number from 1 to ${MAX_DAYS}`);
}
