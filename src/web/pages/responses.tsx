/**
 * Builds the data that every page receives, and the responses of forms: a redirect with a message for the next page.
 *
 * @module
 */
import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import type { Child } from "hono/jsx";
import type { Services, WebEnv } from "../services.ts";
import { formOf } from "../http/forms.ts";
import { allows } from "../auth/access.ts";
import { cookieOptions } from "../auth/login.tsx";
import { countsOf } from "../read/counts.ts";
import { herePath, localPath } from "../read/paging.ts";
import type { Flash, View } from "./view.tsx";

/** Keeps the message of the last action until the next page. */
const FLASH_COOKIE = "jobs_flash";
/** Keeps the choice between light and dark. */
export const THEME_COOKIE = "jobs_theme";
const THEMES: readonly string[] = ["light", "dark"];

/** Reads the data that every page shows. */
export async function viewOf(services: Services, c: Context<WebEnv>): Promise<View> {
  const visitor = c.get("visitor");
  const theme = getCookie(c, THEME_COOKIE);
  const [stats, stuck] = await Promise.all([services.store.admin.stats(), services.stuck.read(services)]);
  return {
    prefix: services.prefix,
    here: herePath(services, c),
    visitor,
    canAct: visitor.role === "operator",
    canRead: allows("read", visitor.role),
    canLogOut: visitor.by === "cookie",
    now: services.clock.now(),
    stats,
    counts: countsOf(stats),
    stuck,
    storeUrl: services.store.url,
    traceUrl: services.traceUrl,
    operations: services.operations.list(),
    flash: takeFlash(services, c),
    theme: THEMES.includes(theme ?? "") ? theme : undefined,
  };
}

/** Renders a page as the response. */
export async function html(
  services: Services,
  c: Context,
  page: Child,
  status: 200 | 400 | 422 = 200,
): Promise<Response> {
  return await services.slices.run(() => c.html(`<!doctype html>${page}`, status));
}

function takeFlash(services: Services, c: Context): Flash | undefined {
  // A live page that refreshes itself while its visitor opens another page must not consume the message for that page.
  if (c.req.header("x-live") !== undefined) return undefined;
  const [kind, ...words] = (getCookie(c, FLASH_COOKIE) ?? "").split(" ");
  if (kind !== "ok" && kind !== "bad") return undefined;
  deleteCookie(c, FLASH_COOKIE, { path: services.prefix || "/" });
  return { kind, text: words.join(" ").slice(0, 500) };
}

/** Redirects to the page that the form came from, or to `path`, with a message. */
export async function back(services: Services, c: Context<WebEnv>, flash?: Flash, path?: string): Promise<Response> {
  if (flash) setCookie(c, FLASH_COOKIE, `${flash.kind} ${flash.text}`, { ...cookieOptions(c, services), maxAge: 60 });
  return c.redirect(services.prefix + (path ?? localPath((await formOf(c, services)).get("back") ?? undefined)), 303);
}
