/**
 * What people did, as a request asks for it.
 *
 * @module
 */
import type { Context } from "hono";
import type { ActPage } from "../store/admin_audit.ts";
import type { Desk, WebEnv } from "./desk.ts";

const DEFAULT_LIMIT = 50;
const MOST = 1_000;

/** The page that a request asks for, without what looks like a secret: somebody may have filtered by one. */
export async function actsOf(desk: Desk, c: Context<WebEnv>): Promise<ActPage> {
  const cursor = c.req.query("cursor");
  const limit = Math.min(MOST, Math.max(1, Math.floor(Number(c.req.query("limit")) || DEFAULT_LIMIT)));
  const page = await desk.store.acts({ limit, ...(cursor === undefined ? {} : { cursor }) });
  return { ...page, acts: page.acts.map((act) => desk.mask.value(act) as typeof act) };
}
