/**
 * What people did, as a request asks for it.
 *
 * @module
 */
import type { Context } from "hono";
import type { AuditPage } from "../../store/admin/audit.ts";
import type { Services, WebEnv } from "../services.ts";
import { pageOf } from "./paging.ts";

/** The page that a request asks for, without what looks like a secret: somebody may have filtered by one. */
export async function readAuditPage(services: Services, c: Context<WebEnv>): Promise<AuditPage> {
  const page = await services.store.audit.page(pageOf(c));
  return { ...page, acts: page.acts.map((act) => services.mask.value(act) as typeof act) };
}
