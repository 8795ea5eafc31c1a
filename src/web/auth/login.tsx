/**
 * Logs users in and out.
 *
 * @module
 */
import { allows } from "./access.ts";
import type { Context, Hono } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { originHint, requestOrigin } from "./origin.ts";
import { HttpError } from "../http/body.ts";
import type { Services, WebEnv } from "../services.ts";
import { formOf, SMALL_FORM_BYTES } from "../http/forms.ts";
import { LoginPage } from "../pages/misc.tsx";
import { localPath } from "../read/paging.ts";

/** Adds `GET` and `POST /login`, which need no login. */
export function loginRoutes(app: Hono<WebEnv>, services: Services): void {
  const page = (
    c: Context<WebEnv>,
    next: string,
    refused: { readonly name?: string; readonly problem?: string } = {},
  ) =>
    "<!doctype html>" +
    <LoginPage prefix={services.prefix} theme={getCookie(c, "jobs_theme")} next={next} {...refused} />;

  const wait = (c: Context<WebEnv>, next: string, waitMs: number) => {
    const seconds = Math.ceil(waitMs / 1_000);
    c.header("retry-after", String(seconds));
    return c.html(page(c, next, { problem: `Too many attempts: wait ${seconds} s.` }), 429);
  };

  app.get("/login", (c) => {
    if (!services.gate.canLogIn) return c.redirect(`${services.prefix}/`, 303);
    return c.html(page(c, localPath(c.req.query("next"))));
  });

  app.post("/login", async (c) => {
    // Otherwise another site could log its visitor in under another name.
    if (requestOrigin(c.req.raw.headers) === "cross") {
      const reason = originHint(c.req.raw.headers) ?? "log in on this dashboard's page";
      throw new HttpError(403, `Cross-site request blocked: ${reason}`);
    }
    const peer = c.env?.peer ?? "";
    const address = services.gate.addressOf(c, peer);
    // Comes before the body, because reading it costs more than this refusal. The log has the failures that led to it.
    const addressWaitMs = services.gate.waitMs(address);
    if (addressWaitMs > 0) return wait(c, "/", addressWaitMs);
    const form = await formOf(c, services, SMALL_FORM_BYTES);
    const next = localPath(form.get("next") ?? undefined);
    const name = form.get("name")?.trim() ?? "";
    const user = await services.gate.logIn(c, peer, name, form.get("password") ?? "");
    if ("refused" in user) {
      if (user.refused === "unknown") {
        return c.html(page(c, next, { name, problem: "Name or password is wrong." }), 401);
      }
      return wait(c, next, user.waitMs);
    }
    if (!allows("visit", user.role)) {
      const problem = "This token is for programs: they send it as Authorization: Bearer …";
      return c.html(page(c, next, { name, problem }), 403);
    }
    services.audit.info("Logged in", { user: user.name, address });
    const { sessions } = services.gate;
    const cookie = await sessions.begin(user.name, services.gate.stampOf(user.name));
    setCookie(c, await sessions.cookieName(), cookie, cookieOptions(c, services));
    return c.redirect(services.prefix + next, 303);
  });
}

export async function logOut(c: Context<WebEnv>, services: Services): Promise<Response> {
  const { session } = c.get("visitor");
  const { sessions } = services.gate;
  if (session !== undefined) await sessions.end(session);
  deleteCookie(c, await sessions.cookieName(), { path: services.prefix || "/" });
  return c.redirect(`${services.prefix}/login`, 303);
}

/** Returns the attributes of every cookie: scripts cannot read it, other sites cannot send it. */
export function cookieOptions(c: Context, services: Services) {
  const secure = new URL(c.req.url).protocol === "https:" || c.req.header("x-forwarded-proto") === "https";
  return { path: services.prefix || "/", httpOnly: true, sameSite: "Strict", secure } as const;
}
