/**
 * Reads the page of cron entries that a request names.
 *
 * @module
 */
import type { Context } from "hono";
import { CRON_FILTERS, type CronFilter, cronRequest, InvalidCronFilter } from "../../operator/query/cron.ts";
import { type CronRow, noneSchedules } from "../../text/cron.ts";
import { HttpError } from "../http/body.ts";
import type { Services, WebEnv } from "../services.ts";
import { textsIn } from "./filter.ts";
import { pageOf } from "./paging.ts";

/** A page of the list. */
export interface CronList {
  readonly entries: readonly CronRow[];
  readonly filter: CronFilter;
  readonly cursor: string | undefined;
  /** Absent on the last page. */
  readonly next: string | undefined;
  /** No worker is online: no run takes place. */
  readonly isIdle: boolean;
}

/** Returns the requested page. */
export async function readCronPage({ crontab, store }: Services, c: Context<WebEnv>): Promise<CronList> {
  const filter = textsIn(c, Object.keys(CRON_FILTERS) as (keyof typeof CRON_FILTERS)[]);
  const page = pageOf(c);
  try {
    const [{ entries, next }, workers] = await Promise.all([
      crontab.page({ ...cronRequest(filter), ...page }),
      store.workers.list(),
    ]);
    const isIdle = noneSchedules(workers);
    return { entries: entries.map((entry) => ({ ...entry, isIdle })), filter, cursor: page.cursor, next, isIdle };
  } catch (error) {
    throw error instanceof InvalidCronFilter ? new HttpError(422, error.message) : error;
  }
}
