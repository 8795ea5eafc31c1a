/**
 * What people did, as a request asks for it.
 *
 * @module
 */
import type { Context } from "hono";
import type { ActPage } from "../../store/admin/audit.ts";
import type { Desk, WebEnv } from "../services.ts";
import { pageOf } from "./paging.ts";

/** The page that a request asks for, without what looks like a secret: somebody may have filtered by one. */
export async function actsOf(desk: Desk, c: Context<WebEnv>): Promise<ActPage> {
  const page = await desk.store.acts(pageOf(c));
  return { ...page, acts: page.acts.map((act) => desk.mask.value(act) as typeof act) };
}
