/**
 * Handles every request: checks the host, admits the visitor, adds the security headers, and routes to a page or to the API.
 *
 * @module
 */
import { Hono } from "hono";
import { getPathNoStrict } from "hono/utils/url";
import { isSuspended } from "../store/port/paused_queues.ts";
import { admit, guardActions, limit } from "./admission.ts";
import { reportRoute } from "./api/report.ts";
import { apiRoutes } from "./api/routes.ts";
import { ASSETS } from "./assets.ts";
import { RouteRules } from "./auth/access.ts";
import { Hosts } from "./auth/origin.ts";
import { HttpError } from "./http/body.ts";
import { explain, misplacedApi, refuse } from "./refusals.tsx";
import type { Services, WebEnv } from "./services.ts";
import { eventStream } from "./read/events.ts";
import { loginRoutes } from "./auth/login.tsx";
import { METRICS_TYPE, metricsText } from "./prometheus/metrics.ts";
import { batchPageRoutes } from "./pages/batches.tsx";
import { formRoutes } from "./pages/forms.tsx";
import { cronRoutes } from "./pages/cron.tsx";
import { cronFormRoutes } from "./pages/cron_form.tsx";
import { pushRoutes } from "./pages/push.tsx";
import { groupRoutes } from "./pages/groups.tsx";
import { signalRoutes } from "./pages/signals.tsx";
import { queueRoutes } from "./pages/queue.tsx";
import { viewRoutes } from "./pages/views.tsx";
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
  reportRoute(app, services);
  loginRoutes(app, services);
  for (const path of ["/theme", "/logout"]) rules.set("POST", path, { access: "visit" });
  rules.set("GET", "/", { access: "visit" });
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
  signalRoutes(app, services, rules);
  pushRoutes(app, services);
  formRoutes(app, services);
  cronRoutes(app, services);
  cronFormRoutes(app, services);
  app.notFound((c) => misplacedApi(services, c) ?? refuse(services, c, 404, "Page not found"));
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
