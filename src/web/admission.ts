/**
 * Admits requests: who sends them, whether their role allows the route, and how many are handled at once.
 *
 * @module
 */
import type { Context, Next } from "hono";
import { type Access, allows, rolesWith, type RouteRules } from "./auth/access.ts";
import { equal, type Role } from "./auth/accounts.ts";
import { isCrossSiteRead, originHint, requestOrigin } from "./auth/origin.ts";
import { HttpError } from "./http/body.ts";
import { formOf, SMALL_FORM_BYTES } from "./http/forms.ts";
import { herePath } from "./read/paging.ts";
import { CODES, isForPrograms, misplacedApi, refuse } from "./refusals.tsx";
import type { Services, WebEnv } from "./services.ts";

/** The requests of the roles that have few. */
const ALLOWED: Readonly<Partial<Record<Role, string>>> = {
  push: "POST /api/v1/jobs and GET /api/v1/jobs/JID/result and …/stream",
  work: "POST /api/v1/work/…, POST /api/v1/jobs and GET /api/v1/jobs/JID/result and …/stream",
  signal: "the page /signals, GET /api/v1/signals and POST /api/v1/signals/KEY",
};

/** Refuses a visitor whose role doesn't allow the route. */
function checkRole(services: Services, rules: RouteRules, c: Context<WebEnv>): void {
  const { access } = rules.of(c);
  const { role } = c.get("visitor");
  const isProgram = role === "push" || role === "signal" || role === "work";
  if (isProgram && access !== "result" && access !== "waits" && services.gate.readOnly) {
    throw new HttpError(403, "The dashboard is read-only (web.readOnly)");
  }
  if (allows(access, role)) return;
  const allowed = ALLOWED[role] === undefined ? "does not allow this action" : `allows only ${ALLOWED[role]}`;
  throw new HttpError(403, `Your role (${role}) ${allowed}; ${roleCure(access, services.gate.readOnly)}`);
}

/** Returns which role a request needs, and what to do. */
function roleCure(access: Access, isReadOnly: boolean): string {
  // No other role would allow it.
  if (isReadOnly && access !== "read" && access !== "waits") return "the dashboard is read-only (web.readOnly)";
  if (access === "work") return "a worker needs a token of the role work: jobs web --new-token NAME --role work";
  return `expected the role ${rolesWith(access).join(" or ")} in web.users`;
}

/** Identifies the visitor. Without one, asks for a login. */
export async function admit(
  services: Services,
  rules: RouteRules,
  c: Context<WebEnv>,
  next: Next,
): Promise<Response | void> {
  const misplaced = misplacedApi(services, c);
  if (misplaced !== undefined) return misplaced;
  const admission = await services.gate.admit(c, c.env?.peer ?? "");
  if (!("refused" in admission)) {
    c.set("visitor", admission);
    if (!allows("visit", admission.role)) checkRole(services, rules, c);
    // A session that a token has begun counts as the token.
    const isProgram = admission.by === "token" || !allows("read", admission.role) ||
      services.gate.tokenUsers.some(({ name }) => name === admission.name);
    // A worker sends as many requests as its jobs need.
    const isLimited = isProgram && rules.of(c).access !== "work";
    const waitMs = isLimited ? services.tokens.use(admission.name) : 0;
    if (waitMs === 0) return await next();
    c.header("retry-after", String(Math.ceil(waitMs / 1_000)));
    const message =
      `Token "${admission.name}" sends too many requests: at most ${services.tokens.perSecond} per second`;
    return refuse(services, c, 429, message);
  }
  if (admission.refused === "wait") {
    const seconds = Math.ceil(admission.waitMs / 1_000);
    c.header("retry-after", String(seconds));
    const wait = `after too many failed logins, wait ${seconds} s before the next one`;
    // A valid token is accepted whatever its address has tried.
    if (schemeOf(c) !== "bearer") return refuse(services, c, 429, `Not logged in: ${wait}`);
    return refuse(services, c, 429, `${UNKNOWN_TOKEN}; ${wait}`, undefined, CODES[401]);
  }
  const forPrograms = isForPrograms(services, c) || c.req.header("authorization") !== undefined;
  if (!forPrograms && services.gate.canLogIn && c.req.method === "GET") {
    return c.redirect(`${services.prefix}/login?next=${encodeURIComponent(herePath(services, c))}`, 303);
  }
  c.header("www-authenticate", 'Bearer realm="jobs", Basic realm="jobs", charset="UTF-8"');
  return refuse(services, c, 401, unknownText(schemeOf(c)));
}

const UNKNOWN_TOKEN =
  "Unknown token: it isn't one of this server's, or was replaced; jobs web --new-token NAME prints a new one for web.users";

/** Returns the scheme of the `Authorization` header in lower case; empty without one. */
function schemeOf(c: Context): string {
  return (c.req.header("authorization") ?? "").trim().toLowerCase().split(/\s/, 1)[0] ?? "";
}

/** Returns why a request has no visitor, and what to do. */
function unknownText(scheme: string): string {
  if (scheme === "") {
    return "No token: expected Authorization: Bearer TOKEN, or a name and a password (Basic)";
  }
  if (scheme === "basic") return "Unknown name or wrong password: expected those of an account in web.users";
  if (scheme === "bearer") return UNKNOWN_TOKEN;
  return "Authorization has another scheme: expected Authorization: Bearer TOKEN, or Basic";
}

/**
 * Refuses requests from other sites' pages, and actions of readers. The cheap checks come before the body is read.
 */
export async function guardActions(
  services: Services,
  rules: RouteRules,
  c: Context<WebEnv>,
  next: Next,
): Promise<Response | void> {
  if (c.req.method === "GET" || c.req.method === "HEAD") {
    checkRole(services, rules, c);
    if (!isCrossSiteRead(c.req.raw.headers)) return await next();
    throw new HttpError(403, "Cross-site request blocked: only this dashboard's pages and programs may read this");
  }
  if (c.req.method !== "POST") return refuse(services, c, 405, "Method not allowed: expected GET or POST");
  const visitor = c.get("visitor");
  if (requestOrigin(c.req.raw.headers) === "cross" && visitor.by !== "token") {
    const reason = originHint(c.req.raw.headers) ?? "actions come from this dashboard's pages";
    throw new HttpError(403, `Cross-site request blocked: ${reason}`);
  }
  checkRole(services, rules, c);
  if (isForPrograms(services, c)) {
    // A browser sends JSON to another site only after a preflight request, which is never answered.
    if (!/^application\/json\b/i.test(c.req.header("content-type") ?? "")) {
      throw new HttpError(415, "The request is not JSON: expected Content-Type: application/json");
    }
    if (visitor.by === "cookie" && !equal(c.req.header("x-jobs-token") ?? "", visitor.formToken)) {
      throw new HttpError(
        403,
        "Missing session token: expected header X-Jobs-Token, or Authorization: Bearer for programs",
      );
    }
    return await next();
  }
  const isSmall = rules.of(c).access === "visit";
  const form = await (isSmall ? formOf(c, services, SMALL_FORM_BYTES) : formOf(c, services));
  if (!equal(form.get("token") ?? "", visitor.formToken)) {
    throw new HttpError(403, "This page has expired: reload it and try again");
  }
  return await next();
}

/** Bounds how many pages are rendered at the same time. Actions don't wait behind pages. */
export async function limit(
  services: Services,
  rules: RouteRules,
  c: Context<WebEnv>,
  next: Next,
): Promise<Response | void> {
  if (c.req.method === "POST" || rules.of(c).waits) return await next();
  using place = await services.limiter.enter(c.get("visitor").address, c.req.raw.signal);
  if (place !== undefined) return await next();
  c.header("retry-after", "1");
  return refuse(services, c, 503, "Too many requests from your address are waiting: try again in a moment");
}
