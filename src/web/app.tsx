/**
 * Every request goes through here: headers, host, who is asking, what it may do; then to a page or to the API.
 *
 * @module
 */
import { type Context, Hono, type Next } from "hono";
import { CursorError } from "../store/port/cursor.ts";
import { StoreError } from "../store/port/errors.ts";
import { isSuspended } from "../store/port/paused_queues.ts";
import { apiRoutes } from "./api/routes.ts";
import { ASSETS } from "./assets.ts";
import { equal } from "./auth/accounts.ts";
import { Hosts, isReadFromElsewhere, senderOf } from "./auth/origin.ts";
import { Refusal } from "./http/body.ts";
import type { Desk, WebEnv } from "./services.ts";
import { eventStream } from "./read/events.ts";
import { formOf, SMALL_FORM_BYTES } from "./http/forms.ts";
import { loginRoutes } from "./auth/login.tsx";
import { METRICS_TYPE, metricsText } from "./prometheus/metrics.ts";
import { actRoutes } from "./pages/forms.tsx";
import { cronRoutes } from "./pages/cron.tsx";
import { cronFormRoutes } from "./pages/cron_form.tsx";
import { ErrorPage } from "./pages/misc.tsx";
import { readRoutes } from "./pages/views.tsx";
import { herePath } from "./read/paging.ts";
import { singleFlight } from "./http/single_flight.ts";

/** Nothing from elsewhere, nothing inline, in nobody's frame. */
const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "img-src 'self'",
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

/** The application. */
export function newApp(desk: Desk, hostNames: readonly string[]): Hono<WebEnv> {
  const hosts = new Hosts(hostNames);
  const problemOfStore = singleFlight(() => storeProblem(desk));
  const metrics = singleFlight(() => metricsText(desk));
  const app = new Hono<WebEnv>({ strict: false }).basePath(desk.prefix || "/") as Hono<WebEnv>;
  app.use(async (c, next) => {
    await next();
    for (const [name, value] of Object.entries(HEADERS)) c.res.headers.set(name, value);
    if (!c.res.headers.has("cache-control")) c.res.headers.set("cache-control", "no-store");
  });
  app.use(async (c, next) => {
    if (hosts.allows(c.req.header("host") ?? new URL(c.req.url).host)) return await next();
    throw new Refusal(403, "This name is not one of ours: name it with --host, or ask by address");
  });
  app.get("/assets/:name", (c) => {
    const name = c.req.param("name");
    const asset = Object.hasOwn(ASSETS, name) ? ASSETS[name] : undefined;
    if (asset === undefined) throw new Refusal(404, "No such file");
    return c.body(asset.text, 200, {
      "content-type": asset.type,
      "cache-control": "public, max-age=31536000, immutable",
    });
  });
  app.get("/healthz", (c) => c.text("ok\n"));
  app.get("/readyz", async (c) => {
    const problem = desk.notReady?.() ?? await problemOfStore();
    return problem === undefined ? c.text("ready\n") : c.text(`${problem}\n`, 503);
  });
  loginRoutes(app, desk);
  app.use((c, next) => admit(desk, c, next));
  app.use((c, next) => guardActions(desk, c, next));
  app.get("/metrics", async (c) => c.body(await metrics(), 200, { "content-type": METRICS_TYPE }));
  app.get("/events", (c) => eventStream(desk, c));
  // Probes, metrics and assets are before this.
  app.use((c, next) => limit(desk, c, next));
  apiRoutes(app, desk);
  readRoutes(app, desk);
  actRoutes(app, desk);
  cronRoutes(app, desk);
  cronFormRoutes(app, desk);
  app.notFound((c) => refuse(desk, c, 404, "No such page"));
  app.onError((error, c) => explain(desk, c, error));
  return app;
}

/** How long the store may take to say that it is there. */
const READY_MS = 2_000;

/** Whoever only shows the store is ready when that answers: while all is paused, more than ever. */
async function storeProblem({ store, clock, notReady }: Desk): Promise<string | undefined> {
  const over = new AbortController();
  const late = clock.sleep(READY_MS, over.signal).then(() => "The store does not answer");
  try {
    const look = store.queues().then((queues) =>
      notReady && isSuspended(queues) ? "Suspended: all queues are paused; jobs resume ends it" : undefined
    );
    return await Promise.race([look, late]);
  } catch (error) {
    return (error as Error).message;
  } finally {
    over.abort();
  }
}

async function admit(desk: Desk, c: Context<WebEnv>, next: Next): Promise<Response | void> {
  const admission = await desk.gate.admit(c, c.env?.peer ?? "");
  if (!("refused" in admission)) {
    c.set("visitor", admission);
    return await next();
  }
  if (admission.refused === "wait") {
    c.header("retry-after", String(Math.ceil(admission.waitMs / 1_000)));
    return refuse(desk, c, 429, "Too many attempts: wait a little");
  }
  const forPrograms = isForPrograms(desk, c) || c.req.header("authorization") !== undefined;
  if (!forPrograms && desk.gate.canLogIn && c.req.method === "GET") {
    return c.redirect(`${desk.prefix}/login?next=${encodeURIComponent(herePath(desk, c))}`, 303);
  }
  c.header("www-authenticate", 'Bearer realm="jobs", Basic realm="jobs", charset="UTF-8"');
  return refuse(desk, c, 401, "A login is wanted: a token (Authorization: Bearer …), or a name and a password");
}

/**
 * Refuses what another site's page sends, and actions of visitors who may not act. Checks everything that costs nothing
 * before it reads the body.
 */
async function guardActions(desk: Desk, c: Context<WebEnv>, next: Next): Promise<Response | void> {
  if (c.req.method === "GET" || c.req.method === "HEAD") {
    if (!isReadFromElsewhere(c.req.raw.headers)) return await next();
    throw new Refusal(403, "Another site asks for this: it is read from our own pages, and by programs");
  }
  if (c.req.method !== "POST") return refuse(desk, c, 405, "Only GET and POST are answered");
  const visitor = c.get("visitor");
  const sender = senderOf(c.req.raw.headers);
  const named = visitor.by === "token";
  if (sender === "other" && !named) throw new Refusal(403, "Another site sent this: actions come from our own pages");
  const isHarmless = ["/theme", "/logout"].includes(herePath(desk, c));
  if (visitor.role !== "operator" && !isHarmless) throw new Refusal(403, "You may look, not act");
  if (isForPrograms(desk, c)) {
    // A page elsewhere cannot send JSON without asking first, and is never allowed to.
    if (!/^application\/json\b/i.test(c.req.header("content-type") ?? "")) {
      throw new Refusal(415, "The request has no JSON; wanted: Content-Type: application/json");
    }
    if (visitor.by === "cookie" && !equal(c.req.header("x-jobs-token") ?? "", visitor.formToken)) {
      throw new Refusal(403, "The session's token is wanted in X-Jobs-Token; programs use Authorization: Bearer");
    }
    return await next();
  }
  const form = await (isHarmless ? formOf(c, desk, SMALL_FORM_BYTES) : formOf(c, desk));
  if (!equal(form.get("token") ?? "", visitor.formToken)) {
    throw new Refusal(403, "The page is too old for this: load it again");
  }
  return await next();
}

/** So many are answered at a time. An operator's action waits behind nobody who only looks. */
async function limit(desk: Desk, c: Context<WebEnv>, next: Next): Promise<Response | void> {
  if (c.req.method === "POST") return await next();
  using place = await desk.limiter.enter(c.get("visitor").address, c.req.raw.signal);
  if (place !== undefined) return await next();
  c.header("retry-after", "1");
  return refuse(desk, c, 503, "Too many requests from your address wait for an answer: try again in a moment");
}

function explain(desk: Desk, c: Context<WebEnv>, error: Error): Response | Promise<Response> {
  if (error instanceof Refusal) return refuse(desk, c, error.status, error.message);
  if (error instanceof CursorError) return refuse(desk, c, 400, error.message);
  if (error instanceof StoreError) return refuse(desk, c, 503, error.message);
  desk.log.error("Request failed", { path: c.req.path, error });
  return refuse(desk, c, 500, "Something went wrong here; the log says what");
}

function refuse(desk: Desk, c: Context<WebEnv>, status: number, message: string): Response | Promise<Response> {
  const code = status as 400;
  if (isForPrograms(desk, c)) return c.json({ error: message }, code);
  return c.html("<!doctype html>" + <ErrorPage prefix={desk.prefix} status={status} message={message} />, code);
}

function isForPrograms(desk: Desk, c: Context): boolean {
  const path = herePath(desk, c);
  return /^\/(api\/|api$|metrics|events)/.test(path);
}
