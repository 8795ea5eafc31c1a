/**
 * Reads the page of cron entries that a request names.
 *
 * @module
 */
import type { Context } from "hono";
import type { CrontabEntry } from "../../client/crontab_entry.ts";
import { CRON_FILTERS, type CronFilter, cronRequest, InvalidCronFilter } from "../../operator/query/cron.ts";
import { HttpError } from "../http/body.ts";
import type { Services, WebEnv } from "../services.ts";
import { textsIn } from "./filter.ts";
import { pageOf } from "./paging.ts";

/** A page of the list. */
export interface CronList {
  readonly entries: readonly CrontabEntry[];
  readonly filter: CronFilter;
  readonly cursor: string | undefined;
  /** Absent on the last page. */
  readonly next: string | undefined;
}

/** Returns the requested page. */
export async function readCronPage({ crontab }: Services, c: Context<WebEnv>): Promise<CronList> {
  const filter = textsIn(c, Object.keys(CRON_FILTERS) as (keyof typeof CRON_FILTERS)[]);
  const page = pageOf(c);
  try {
    const { entries, next } = await crontab.page({ ...cronRequest(filter), ...page });
    return { entries, filter, cursor: page.cursor, next };
  } catch (error) {
    throw error instanceof InvalidCronFilter ? new HttpError(422, error.message) : error;
  }
}
