/** Every way in, with every role and scope, to every route: one table of what each may do. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { newToken } from "../../src/web/auth/accounts.ts";
import type { Access } from "../../src/web/auth/access.ts";
import { openSite, quickSecret, type Site, type SiteOptions } from "./site.ts";

/** Routes that need no login. */
const OPEN = ["GET /assets/:name", "GET /healthz", "GET /readyz", "GET /login", "POST /login", "POST /api/v1/report"];

/** Routes by their access. A route that is missing here fails the test. */
const ROUTES: Readonly<Record<Access, readonly string[]>> = {
  push: ["jobs", "batches", "batches/:id/close"].map((path) => `POST /api/v1/${path}`),
  work: ["register", "take", "settle", "heartbeat", "step", "stream", "deregister"].map((verb) =>
    `POST /api/v1/work/${verb}`
  ),
  result: ["GET /api/v1/jobs/:jid/result", "GET /api/v1/jobs/:jid/stream"],
  visit: ["GET /", "POST /theme", "POST /logout"],
  read: [
    ...[
      "/metrics",
      "/events",
      "/running",
      "/scheduled",
      "/retrying",
      "/dead",
      "/queued",
      "/queues",
      "/queues/:name",
    ],
    ...[
      "/queues/:name/limit",
      "/queues/:name/groups/:group",
      "/queues/:name/groups/:group/limit",
      "/jobs/:jid",
      "/queued/:name",
    ],
    ...["/finished", "/classes", "/classes/:name", "/audit", "/workers", "/settings", "/search"],
    ...["/batches", "/batches/:id", "/flows", "/flows/:id", "/cron", "/cron/:name"],
    ...["/api/v1", "/api/v1/openapi.json", "/api/v1/jobs", "/api/v1/jobs/:jid", "/api/v1/finished"],
    ...["/api/v1/stats", "/api/v1/history", "/api/v1/audit", "/api/v1/queues", "/api/v1/queues/:name/groups"],
    ...[
      "/api/v1/workers",
      "/api/v1/classes",
      "/api/v1/tokens",
      "/api/v1/settings",
      "/api/v1/operations",
      "/api/v1/events",
    ],
    ...[
      "/api/v1/jobs/:jid/steps",

      "/api/v1/batches",
      "/api/v1/batches/:id",
      "/api/v1/flows",
      "/api/v1/flows/:id",
    ],
    ...["/api/v1/flows/:id/nodes", "/api/v1/cron", "/api/v1/cron/:name"],
  ].map((path) => `GET ${path}`),
  signal: ["POST /signals", "POST /api/v1/signals/:key"],
  waits: ["GET /signals", "GET /api/v1/signals"],
  act: [
    ...["/jobs/act", "/jobs/cancel", "/jobs/steps", "/queues/pause", "/queues/resume", "/queues/:name/pause"],
    ...["/queues/:name/resume", "/queues/:name/forget", "/queues/:name/limit", "/queues/:name/groups/:group/limit"],
    ...["/queues/:name/groups/:group/pause", "/queues/:name/groups/:group/resume", "/workers/quiet", "/workers/resume"],
    ...["/workers/stop", "/workers/:workerId/quiet", "/workers/:workerId/resume", "/workers/:workerId/stop"],
    ...[
      "/workers/:workerId/dump",
      "/push",
      "/jobs/:jid/edit",
      "/jobs/:jid/push-again",
      "/batches/:id/cancel",
      "/batches/:id/retry",
    ],
    ...["/flows/:id/cancel", "/flows/:id/retry", "/cron/:name/run", "/cron/:name/pause", "/cron/:name/resume"],
    ...["/cron/:name/remove", "/cron/:name/edit", "/cron-new"],
    ...["push-again", "retry", "kill", "delete", "move", "cancel", "steps/clear", "steps/rerun", "steps/wake"]
      .map((verb) => `/api/v1/jobs/:jid/${verb}`),
    ...["actions", "pause", "resume", "queues/:name/pause", "queues/:name/resume", "queues/:name/limit"]
      .map((path) => `/api/v1/${path}`),
    ...[
      "queues/:name/clear",
      "queues/:name/forget",
      "queues/:name/groups/limit",
      "queues/:name/groups/pause",
      "queues/:name/groups/resume",
      "workers/:id/quiet",
      "workers/:id/resume",
      "workers/:id/stop",
      "workers/quiet",
      "workers/resume",
      "workers/stop",
      "batches/:id/check",
    ]
      .map((path) => `/api/v1/${path}`),
    ...["workers/:id/dump", "batches/:id/cancel", "batches/:id/retry"]
      .map((path) => `/api/v1/${path}`),
    ...["flows", "flows/:id/cancel", "flows/:id/retry", "cron", "cron/:name/edit", "cron/:name/run"]
      .map((path) => `/api/v1/${path}`),
    ...["cron/:name/pause", "cron/:name/resume", "cron/:name/remove"].map((path) => `/api/v1/${path}`),
    ...["add", "pause", "resume", "remove"].map((verb) => `/api/v1/cron-bulk/${verb}`),
  ].map((path) => `POST ${path}`).concat(
    ["/push", "/jobs/:jid/edit", "/cron-new", "/cron/:name/edit"].map((path) => `GET ${path}`),
  ),
};

const MAY: Readonly<Record<string, readonly Access[]>> = {
  operator: ["read", "visit", "act", "push", "signal", "waits", "work", "result"],
  reader: ["read", "visit", "waits", "result"],
  signal: ["visit", "signal", "waits"],
  push: ["push", "result"],
  work: ["work", "push", "result"],
  scoped: ["push", "result"],
};
const ROLE: Readonly<Record<string, string>> = { scoped: "push(class=Mail,queue=low)" };
const PASSWORD = "correct horse";
const TOKENS = Object.fromEntries(Object.keys(MAY).map((name) => [name, newToken()]));
const SECRET = quickSecret(PASSWORD);
const OPTIONS: SiteOptions = {
  users: Object.keys(MAY).flatMap((name) => [
    `${name}:${ROLE[name] ?? name}:${TOKENS[name]!.secret}`,
    `${name}-pw:${ROLE[name] ?? name}:${SECRET}`,
  ]),
  proxyHeader: "x-user",
  proxies: ["10.0.0.1"],
  tokenRate: 0,
};

type Way = "token" | "basic" | "proxy" | "cookie";

/** Sends a request as an account, in one of the ways to be recognized. The body of the response isn't awaited. */
async function send(site: Site, way: Way | undefined, name: string, route: string, cookie?: string): Promise<Response> {
  const [method, pattern] = route.split(" ") as [string, string];
  const headers = new Headers({ host: "localhost" });
  if (way === "token") headers.set("authorization", `Bearer ${TOKENS[name]!.token}`);
  if (way === "basic") headers.set("authorization", `Basic ${btoa(`${name}-pw:${PASSWORD}`)}`);
  if (way === "proxy") headers.set("x-user", name);
  if (way === "cookie") headers.set("cookie", cookie!);
  const isApi = pattern.startsWith("/api/");
  if (method === "POST") headers.set("content-type", isApi ? "application/json" : "application/x-www-form-urlencoded");
  const request = new Request(`http://localhost${pattern.replace(/:\w+/g, "x")}`, {
    method,
    headers,
    redirect: "manual",
    ...(method === "POST" && { body: isApi ? "{}" : "" }),
  });
  return await site.web.handle(request, way === "proxy" ? "10.0.0.1" : "127.0.0.1");
}

/** The texts of refusals that a role causes. */
const BY_ROLE = /Your role \((reader|push|signal|work)\)|The dashboard is read-only/;

async function isRefused(answer: Response): Promise<boolean> {
  const text = answer.headers.get("content-type")?.startsWith("text/event-stream")
    ? (await answer.body?.cancel(), "")
    : await answer.text();
  return answer.status === 403 && BY_ROLE.test(text);
}

async function logIn(site: Site, name: string): Promise<string | undefined> {
  const request = new Request("http://localhost/login", {
    method: "POST",
    headers: { host: "localhost", "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({ name: `${name}-pw`, password: PASSWORD }),
    redirect: "manual",
  });
  const answer = await site.web.handle(request, "127.0.0.1");
  await answer.body?.cancel();
  return answer.headers.getSetCookie()[0]?.split(";")[0];
}

Deno.test("each route has an access in the table, and none is left out", async () => {
  await using site = await openSite("sqlite", OPTIONS);
  assertEquals([...new Set(site.web.routes)].sort(), [...OPEN, ...Object.values(ROUTES).flat()].sort());
});

Deno.test("each role may use the routes that the table gives it, in every way to log in, and no others", async () => {
  await using site = await openSite("sqlite", OPTIONS);
  for (const [name, accesses] of Object.entries(MAY)) {
    const cookie = await logIn(site, name);
    assertEquals(cookie !== undefined, ["operator", "reader", "signal"].includes(name), `${name} has a session`);
    for (const [access, routes] of Object.entries(ROUTES) as [Access, readonly string[]][]) {
      const allowed = accesses.includes(access);
      for (const route of routes) {
        // An allowed request takes longer than a refusal, so it is sent in one way.
        const ways: readonly Way[] = allowed
          ? ["token"]
          : ["token", "basic", "proxy", ...(cookie ? ["cookie" as const] : [])];
        for (const way of ways) {
          const refused = await isRefused(await send(site, way, name, route, cookie));
          assertEquals(refused, !allowed, `${name} by ${way}: ${route}`);
        }
      }
    }
  }
  for (const route of Object.values(ROUTES).flat()) {
    const answer = await send(site, undefined, "", route);
    await answer.body?.cancel();
    assert([401, 303].includes(answer.status), `${route} without a login: ${answer.status}`);
  }
});

Deno.test("a read-only dashboard refuses every action of every role", async () => {
  await using site = await openSite("sqlite", { ...OPTIONS, readOnly: true });
  for (const name of Object.keys(MAY)) {
    for (const route of [...ROUTES.act, ...ROUTES.push, ...ROUTES.signal]) {
      assertEquals(await isRefused(await send(site, "token", name, route)), true, `${name}: ${route}`);
    }
  }
});

Deno.test("an identity has its scope, whichever way it is recognized", async () => {
  await using site = await openSite("sqlite", {
    ...OPTIONS,
    users: [...OPTIONS.users!, "*:push(class=Anyone)"],
  });
  const push = async (headers: HeadersInit, body: object, peer = "127.0.0.1") => {
    const { status } = await site.visitor(peer).send("/api/v1/jobs", {
      method: "POST",
      headers: { ...Object.fromEntries(new Headers(headers)), "content-type": "application/json" },
      body: JSON.stringify({ args: [], ...body }),
    });
    return status;
  };
  const basic = { authorization: `Basic ${btoa(`scoped-pw:${PASSWORD}`)}` };
  const token = { authorization: `Bearer ${TOKENS["scoped"]!.token}` };
  for (const [headers, peer] of [[basic], [token], [{ "x-user": "scoped" }, "10.0.0.1"]] as const) {
    assertEquals(await push(headers, { class: "Mail", queue: "low" }, peer), 201);
    assertEquals(await push(headers, { class: "Mail", queue: "high" }, peer), 403);
    assertEquals(await push(headers, { class: "Other", queue: "low" }, peer), 403);
  }
  assertEquals(await push({ "x-user": "stranger" }, { class: "Anyone" }, "10.0.0.1"), 201);
  assertEquals(await push({ "x-user": "stranger" }, { class: "Mail" }, "10.0.0.1"), 403);
});

Deno.test("a visitor of the role push has no session, and the same rate in every way to log in", async () => {
  await using site = await openSite("sqlite", { ...OPTIONS, tokenRate: 1 });
  const answer = await site.visitor().send("/login", {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({ name: "", password: TOKENS["push"]!.token }),
  });
  assertEquals([answer.status, answer.headers.get("set-cookie")], [403, null]);
  assertMatch(answer.text, /This token is for programs/);
  for (const way of ["basic", "proxy", "token"] as const) {
    const name = way === "basic" ? "scoped" : way === "proxy" ? "push" : "operator";
    const statuses: number[] = [];
    for (let i = 0; i < 12; i++) {
      const answer = await send(site, way, name, "GET /api/v1/jobs/:jid/result");
      await answer.body?.cancel();
      statuses.push(answer.status);
    }
    assertEquals([statuses[0], statuses.includes(429)], [200, true], way);
  }
});

Deno.test("a page that is refused to a push token tells nothing of the store", async () => {
  await using site = await openSite("sqlite", OPTIONS);
  const { status, text } = await site.visitor().send("/queues", {
    headers: { authorization: `Bearer ${TOKENS["push"]!.token}` },
  });
  assertEquals([status, text.includes(".db"), /<nav/.test(text)], [403, false, false]);
});

Deno.test("a path that ends like a route's is served within the bounds of pages", async () => {
  await using site = await openSite("sqlite", {});
  const waiting = Array.from({ length: 80 }, () => site.visitor().send("/jobs/result"));
  const statuses = (await Promise.all(waiting)).map(({ status }) => status);
  assertEquals(statuses.filter((status) => status === 503).length, 80 - 50 - 4);
});

Deno.test("/metrics without a login is 401, with a prefix and without it", async () => {
  await using site = await openSite("sqlite", { ...OPTIONS, prefix: "/jobs" });
  for (const path of ["/metrics", "/jobs/metrics", "/jobs/events", "/jobs/api/v1/stats", "/jobs/api"]) {
    assertEquals((await site.visitor().send(path)).status, 401, path);
  }
  const page = await site.visitor().send("/jobs/dead");
  assertEquals([page.status, page.headers.get("location")], [303, "/jobs/login?next=%2Fdead"]);
});

Deno.test("a missing, an unknown and a misspelled login have different errors", async () => {
  await using site = await openSite("sqlite", OPTIONS);
  const refusal = async (authorization?: string) => {
    const headers = authorization === undefined ? {} : { authorization };
    const { status, text } = await site.visitor().send("/api/v1/stats", { headers });
    return [status, JSON.parse(text).error.message.split(":")[0]];
  };
  assertEquals(await refusal(), [401, "No token"]);
  assertEquals(await refusal("Bearer x"), [401, "Unknown token"]);
  assertEquals(await refusal(`Basic ${btoa("ann:x")}`), [401, "Unknown name or wrong password"]);
  assertEquals(await refusal("Token x"), [401, "Authorization has another scheme"]);
});

for (const prefix of ["", "/ops"]) {
  Deno.test(`a wrong address is an error before a wrong token, with the prefix "${prefix}"`, async () => {
    await using site = await openSite("sqlite", { ...OPTIONS, prefix });
    const wrong = [`${prefix}/api/v1/api/v1/jobs`, `${prefix}/dashboard/api/v1/jobs`, `/other/api/v1/jobs`];
    for (const path of prefix === "" ? wrong : [...wrong, "/api/v1/jobs"]) {
      for (const authorization of ["", "Bearer x"]) {
        const headers = { authorization, "content-type": "application/json" };
        const { status, text } = await site.visitor().send(path, { method: "POST", body: "{}", headers });
        assertEquals([status, JSON.parse(text).error.code], [404, "not_found"], path);
        const base = path.slice(0, path.lastIndexOf("/api/v1"));
        const wrong = base.startsWith(prefix) ? base.slice(prefix.length) : base;
        const expected = `Path not found: ${path}; use the URL http://localhost:7433${prefix}${
          wrong && `, without ${wrong}`
        }`;
        assertEquals(JSON.parse(text).error.message, expected);
      }
    }
    assertEquals((await site.visitor().send(`${prefix}/api/v1/queues/api/resume`, { method: "POST" })).status, 401);
  });
}
