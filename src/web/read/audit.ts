/**
 * Reads pages of the audit log.
 *
 * @module
 */
import type { Context } from "hono";
import { type AuditEntry, readEvents } from "../../store/admin/audit.ts";
import type { Services, WebEnv } from "../services.ts";
import { compileGlob } from "../../operator/query/filter.ts";
import { page } from "../../store/ops/scan.ts";
import { textsIn } from "./filter.ts";
import { pageOf, spanOf } from "./paging.ts";

/** The filters of audit entries, by their names in URLs. */
export const AUDIT_FILTERS = {
  user: { label: "User", example: "ann", about: "the user, exactly; * stands for any characters" },
  action: { label: "Action", example: "delete, or cron *", about: "the action, exactly; * stands for any characters" },
  target: { label: "Target", example: "queue:default", about: "the target, exactly; * stands for any characters" },
} as const;

const NAMES = Object.keys(AUDIT_FILTERS) as (keyof typeof AUDIT_FILTERS)[];

/** A page of the audit log. */
export interface AuditList {
  readonly events: readonly AuditEntry[];
  readonly filter: { readonly [Name in keyof typeof AUDIT_FILTERS]?: string };
  readonly cursor: string | undefined;
  /** Absent on the last page. */
  readonly next: string | undefined;
}

/** Returns the requested page. Secrets are masked: a filter in an entry may contain one. */
export async function readAuditPage(services: Services, c: Context<WebEnv>): Promise<AuditList> {
  const filter = textsIn(c, NAMES);
  const criteria = NAMES.flatMap((name) => {
    const text = filter[name];
    return text === undefined ? [] : [{ name, fits: compileGlob(text) }];
  });
  const fits = (event: AuditEntry) => criteria.every(({ name, fits }) => fits(event[name] ?? ""));
  const { rows, next } = await page(
    {
      read: async (part) => {
        const { events, next } = await readEvents(services.store, part);
        return { rows: events.map((event) => services.mask.value(event) as typeof event), next };
      },
      match: criteria.length === 0 ? undefined : (events) => Promise.resolve(events.map(fits)),
    },
    services.clock,
    spanOf(services, c),
  );
  return { events: rows, filter, cursor: pageOf(c).cursor, next };
}
