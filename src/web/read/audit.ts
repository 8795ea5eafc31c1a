/**
 * Reads pages of the audit log.
 *
 * @module
 */
import type { Context } from "hono";
import type { AuditEntry } from "../../store/admin/audit.ts";
import type { Services, WebEnv } from "../services.ts";
import { pageOf } from "./paging.ts";
import { AUDIT_FILTERS, matchesRecord, readRecords, type RecordFilter, recordFilterOf } from "./record_filter.ts";

/** A page of the audit log. */
export interface AuditList {
  readonly events: readonly AuditEntry[];
  readonly filter: RecordFilter<keyof typeof AUDIT_FILTERS>;
  readonly cursor: string | undefined;
  /** Absent on the last page. */
  readonly next: string | undefined;
}

/** Returns the requested page. Secrets are masked: a filter in an entry may contain one. */
export async function readAuditPage(services: Services, c: Context<WebEnv>): Promise<AuditList> {
  const filter = recordFilterOf(c, AUDIT_FILTERS);
  const read = async (page: { readonly limit: number; readonly cursor?: string }) => {
    const { events, next } = await services.store.audit.page(page);
    const rows = events.map((event) => services.mask.value(event) as typeof event);
    return { rows, ...(next !== undefined && { next }) };
  };
  const matches = (event: AuditEntry) => matchesRecord(filter, (name) => event[name] ?? "");
  const isFiltered = Object.keys(filter).length > 0;
  const { rows, next } = await readRecords(services, c, read, isFiltered ? matches : undefined);
  return { events: rows, filter, cursor: pageOf(c).cursor, next };
}
