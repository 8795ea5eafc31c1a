/**
 * Handles every request: checks the host, the visitor and the role, adds the security headers, and routes to a page or
 * to the API.
 *
 * @module
 */
import { type Context, Hono, type Next } from "hono";
import { getPathNoStrict } from "hono/utils/url";
import { InvalidPayload } from "../job/errors.ts";
import { type RefusalKind, Refused } from "../operator/actions/action.ts";
import { CursorError } from "../store/port/cursor.ts";
import { StoreError } from "../store/port/errors.ts";
import { isSuspended } from "../store/port/paused_queues.ts";
import { apiRoutes } from "./api/routes.ts";
import { ASSETS } from "./assets.ts";
import { allows, RouteRules } from "./auth/access.ts";
import { equal } from "./auth/accounts.ts";
import { Hosts, isCrossSiteRead, originHint, requestOrigin } from "./auth/origin.ts";
import { InvalidInput } from "../operator/shapes/shape.ts";
import { HttpError } from "./http/body.ts";
import { recordRefused } from "./audit.ts";
import type { Services, WebEnv } from "./services.ts";
import { eventStream } from "./read/events.ts";
import { formOf, SMALL_FORM_BYTES } from "./http/forms.ts";
import { loginRoutes } from "./auth/login.tsx";
import { METRICS_TYPE, metricsText } from "./prometheus/metrics.ts";
import { batchPageRoutes } from "./pages/batches.tsx";
import { formRoutes } from "./pages/forms.tsx";
import { cronRoutes } from "./pages/cron.tsx";
import { cronFormRoutes } from "./pages/cron_form.tsx";
import { pushRoutes } from "./pages/push.tsx";
import { groupRoutes } from "./pages/groups.tsx";
import { queueRoutes } from "./pages/queue.tsx";
import { ErrorPage } from "./pages/misc.tsx";
import { viewOf } from "./pages/responses.tsx";
import type { View } from "./pages/view.tsx";
import { viewRoutes } from "./pages/views.tsx";
import { herePath } from "./read/paging.ts";
import { singleFlight } from "./http/single_flight.ts";

/** Allows only this dashboard's own files: nothing inline, nothing from other sites, no framing. */
const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join("; ");

const HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": POLICY,
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
};

/** Creates the application. */
export function newApp(services: Services, hostNames: readonly string[]): Hono<WebEnv> {
  const hosts = new Hosts(hostNames);
  const problemOfStore = singleFlight(() => storeProblem(services));
  const metrics = singleFlight(() => metricsText(services));
  const rules = new RouteRules(services.prefix);
  const prefix = services.prefix || "/";
  const getPath = (request: Request) => pathOf(request, services.prefix);
  const app = new Hono<WebEnv>({ getPath }).basePath(prefix) as Hono<WebEnv>;
  app.use(async (c, next) => {
    await next();
    for (const [name, value] of Object.entries(HEADERS)) c.res.headers.set(name, value);
    if (!c.res.headers.has("cache-control")) c.res.headers.set("cache-control", "no-store");
  });
  app.use(async (c, next) => {
    if (hosts.allows(c.req.header("host") ?? new URL(c.req.url).host)) return await next();
    throw new HttpError(403, "Unknown host name: add it with --host, or use the address");
  });
  app.get("/assets/:name", (c) => {
    const name = c.req.param("name");
    const asset = Object.hasOwn(ASSETS, name) ? ASSETS[name] : undefined;
    if (asset === undefined) throw new HttpError(404, "File not found");
    const zipped = /\bgzip\b/.test(c.req.header("accept-encoding") ?? "") ? asset.gzip() : undefined;
    return c.body(zipped ?? asset.body, 200, {
      "content-type": asset.type,
      "cache-control": "public, max-age=31536000, immutable",
      "vary": "accept-encoding",
      ...(zipped !== undefined && { "content-encoding": "gzip" }),
    });
  });
  app.get("/healthz", (c) => c.text("ok\n"));
  app.get("/readyz", async (c) => {
    const problem = services.notReady?.() ?? await problemOfStore();
    return problem === undefined ? c.text("ready\n") : c.text(`${problem}\n`, 503);
  });
  loginRoutes(app, services);
  for (const path of ["/theme", "/logout"]) rules.set("POST", path, { access: "visit" });
  // Readers couldn't send these forms.
  for (const path of ["/push", "/jobs/:jid/edit", "/cron-new", "/cron/:name/edit"]) {
    rules.set("GET", path, { access: "act" });
  }
  app.use((c, next) => admit(services, rules, c, next));
  app.use((c, next) => guardActions(services, rules, c, next));
  app.get("/metrics", async (c) => c.body(await metrics(), 200, { "content-type": METRICS_TYPE }));
  app.get("/events", (c) => eventStream(services, c));
  // Probes, metrics and assets come before this: they don't wait.
  app.use((c, next) => limit(services, rules, c, next));
  apiRoutes(app, services, rules);
  viewRoutes(app, services);
  batchPageRoutes(app, services);
  queueRoutes(app, services);
  groupRoutes(app, services);
  pushRoutes(app, services);
  formRoutes(app, services);
  cronRoutes(app, services);
  cronFormRoutes(app, services);
  app.notFound((c) => refuse(services, c, 404, "Page not found"));
  app.onError((error, c) => explain(services, c, error));
  return app;
}

/** Paths for probes and Prometheus. They work without the prefix, too: these requests don't pass through the proxy. */
const PROBES = new Set(["/healthz", "/readyz", "/metrics"]);

/** Returns the path to route by, without a slash at its end. */
function pathOf(request: Request, prefix: string): string {
  const path = getPathNoStrict(request);
  return prefix !== "" && PROBES.has(path) ? prefix + path : path;
}

/** The longest time that `/readyz` waits for the store. */
const READY_TIMEOUT_MS = 2_000;

/** Returns why this process isn't ready. One that only shows the store is ready while all queues are paused. */
async function storeProblem({ store, clock, notReady }: Services): Promise<string | undefined> {
  const over = new AbortController();
  const late = clock.sleep(READY_TIMEOUT_MS, over.signal).then(() => "The store does not answer");
  try {
    const look = store.admin.stats().then(({ queues }) =>
      notReady && isSuspended(queues) ? "Suspended: all queues are paused; jobs resume ends it" : undefined
    );
    return await Promise.race([look, late]);
  } catch (error) {
    return (error as Error).message;
  } finally {
    over.abort();
  }
}

/** Refuses a visitor whose role doesn't allow the route. */
function checkRole(services: Services, rules: RouteRules, c: Context<WebEnv>): void {
  const { access } = rules.of(c);
  const { role } = c.get("visitor");
  if (access === "push" && role === "push" && services.gate.readOnly) {
    throw new HttpError(403, "The dashboard is read-only (web.readOnly)");
  }
  if (allows(access, role)) return;
  throw new HttpError(
    403,
    role === "push"
      ? "Your role (push) allows only POST /api/v1/jobs and GET /api/v1/jobs/JID/result"
      : `Your role (${role}) does not allow this action`,
  );
}

async function admit(
  services: Services,
  rules: RouteRules,
  c: Context<WebEnv>,
  next: Next,
): Promise<Response | void> {
  const admission = await services.gate.admit(c, c.env?.peer ?? "");
  if (!("refused" in admission)) {
    c.set("visitor", admission);
    if (admission.role === "push") checkRole(services, rules, c);
    const isProgram = admission.by === "token" || admission.role === "push";
    const waitMs = isProgram ? services.tokens.use(admission.name) : 0;
    if (waitMs === 0) return await next();
    c.header("retry-after", String(Math.ceil(waitMs / 1_000)));
    const message =
      `Token "${admission.name}" sends too many requests: at most ${services.tokens.perSecond} per second`;
    return refuse(services, c, 429, message);
  }
  if (admission.refused === "wait") {
    c.header("retry-after", String(Math.ceil(admission.waitMs / 1_000)));
    return refuse(services, c, 429, "Too many failed logins: try again later");
  }
  const forPrograms = isForPrograms(services, c) || c.req.header("authorization") !== undefined;
  if (!forPrograms && services.gate.canLogIn && c.req.method === "GET") {
    return c.redirect(`${services.prefix}/login?next=${encodeURIComponent(herePath(services, c))}`, 303);
  }
  c.header("www-authenticate", 'Bearer realm="jobs", Basic realm="jobs", charset="UTF-8"');
  return refuse(services, c, 401, "Sign in: expected a token (Authorization: Bearer …), or a name and a password");
}

/**
 * Refuses requests from other sites' pages, and actions of readers. The cheap checks come before the body is read.
 */
async function guardActions(
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
async function limit(
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

async function explain(services: Services, c: Context<WebEnv>, error: Error): Promise<Response> {
  if (error instanceof HttpError) {
    const visitor = c.get("visitor");
    if (error.status === 403 && visitor !== undefined) {
      const target = `${c.req.method} ${herePath(services, c)}`.slice(0, 200);
      await recordRefused(services, visitor, { target, reason: error.message });
    }
    return await refuse(services, c, error.status, error.message, error.field);
  }
  // A name in the address is wrong with it.
  if (error instanceof InvalidInput) {
    const isInAddress = error.field !== undefined && c.req.param(error.field) !== undefined;
    return await refuse(services, c, isInAddress ? 400 : 422, error.message, error.field);
  }
  if (error instanceof Refused) return await refuse(services, c, STATUS[error.kind], error.message, error.field);
  if (error instanceof InvalidPayload) return await refuse(services, c, 422, error.message, error.field);
  if (error instanceof CursorError) return await refuse(services, c, 400, error.message, "cursor");
  if (error instanceof StoreError) return await refuse(services, c, 503, error.message);
  services.log.error("Request failed", { path: c.req.path, error });
  return await refuse(services, c, 500, "Internal error; see the log");
}

const STATUS: Readonly<Record<RefusalKind, number>> = { invalid: 422, missing: 404, conflict: 409, unavailable: 503 };

/** The codes of the API's errors, by status. Programs decide by the code; the message is for people. */
const CODES: Readonly<Record<number, string>> = {
  400: "bad_request",
  401: "unauthenticated",
  403: "forbidden",
  404: "not_found",
  405: "method_not_allowed",
  408: "timeout",
  409: "conflict",
  413: "too_large",
  415: "not_json",
  422: "invalid",
  429: "rate_limited",
  503: "unavailable",
};

async function refuse(
  services: Services,
  c: Context<WebEnv>,
  status: number,
  message: string,
  field?: string,
): Promise<Response> {
  const code = status as 400;
  if (isForPrograms(services, c)) {
    const error = { code: CODES[status] ?? "internal", message, ...(field !== undefined && { field }) };
    return c.json({ error }, code);
  }
  const view = await viewForRefusal(services, c, status);
  return c.html(`<!doctype html>${<ErrorPage prefix={services.prefix} {...{ status, message, view }} />}`, code);
}

/** Returns the navigation for the error page of a known visitor; undefined if the store or this process is overloaded. */
async function viewForRefusal(services: Services, c: Context<WebEnv>, status: number): Promise<View | undefined> {
  const visitor = c.get("visitor");
  // The navigation shows counts and the store's address.
  if (visitor === undefined || !allows("read", visitor.role) || status === 429 || status >= 500) return undefined;
  return await viewOf(services, c).catch(() => undefined);
}

function isForPrograms(services: Services, c: Context): boolean {
  const path = herePath(services, c);
  return /^\/(api|metrics|events)(?=[/?]|$)/.test(path);
}
