/**
 * Reads pages of the audit log.
 *
 * @module
 */
import type { Context } from "hono";
import type { AuditPage } from "../../store/admin/audit.ts";
import type { Services, WebEnv } from "../services.ts";
import { pageOf } from "./paging.ts";

/** Returns the requested page. Secrets are masked: a filter in an entry may contain one. */
export async function readAuditPage(services: Services, c: Context<WebEnv>): Promise<AuditPage> {
  const page = await services.store.audit.page(pageOf(c));
  return { ...page, acts: page.acts.map((act) => services.mask.value(act) as typeof act) };
}
