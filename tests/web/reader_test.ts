/** A reader, and a client with an odd method, reach everything that shows and nothing that acts. */
import { readEvents } from "../../src/store/admin/audit.ts";
import { assert, assertEquals } from "@std/assert";
import { connect } from "node:net";
import { once } from "node:events";
import { Client } from "../../src/client/client.ts";
import { Crontab } from "../../src/client/crontab.ts";
import { newToken } from "../../src/web/auth/accounts.ts";
import { serve } from "../../src/web/http/serve.ts";
import { bury, openSite, push, type Site, workerRecord } from "./site.ts";
import type { Store } from "../../src/store/admin/store.ts";

const READER = newToken();
const OPERATOR = newToken();
const USERS = [`eve:reader:${READER.secret}`, `ci:operator:${OPERATOR.secret}`];
const SECRET = "hunter2";

/** Every path that acts, with a form or body for it. */
const ACTIONS: readonly (readonly [path: string, fields: Record<string, string>])[] = [
  ["/jobs/act", { in: "dead", do: "delete", scope: "all", confirmed: "yes" }],
  ["/jobs/cancel", { jid: "q1", process: "web1:7:x" }],
  ["/jobs/steps", { do: "clear", jid: "q1", name: "charge" }],
  ["/push", { class: "Hard", args: "[]" }],
  ["/jobs/d1/edit", { class: "Hard", args: "[]" }],
  ["/queues/pause", {}],
  ["/queues/default/pause", {}],
  ["/queues/default/limit", { running: "1" }],
  ["/workers/stop", { confirmed: "yes" }],
  ["/workers/web1:7:x/quiet", {}],
  ["/workers/web1:7:x/dump", {}],
  ["/cron/nightly/run", {}],
  ["/cron/nightly/pause", {}],
  ["/cron/nightly/remove", {}],
  ["/cron/nightly/edit", { class: "Other", every: "1m", args: "[]", do: "" }],
  ["/cron/nightly/edit", { class: "Other", every: "1m", args: "[]", do: "check" }],
  ["/cron-new", { name: "mine", class: "Hard", every: "1m", args: "[]" }],
  ["/api/v1/jobs", { class: "Hard" }],
  ["/api/v1/actions", { action: "delete", in: "dead" }],
  ["/api/v1/jobs/d1/delete", {}],
  ["/api/v1/pause", {}],
  ["/api/v1/queues/default/clear", {}],
  ["/api/v1/cron", { name: "mine", class: "Hard", every: "1m" }],
  ["/api/v1/cron/nightly/run", {}],
  ["/api/v1/workers/web1:7:x/stop", {}],
];
const ODD_METHODS = ["PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "QUERY", "X"];

async function openGuarded(): Promise<Site> {
  const site = await openSite("sqlite", { users: USERS });
  await bury(site.store, "d1", { args: [{ password: SECRET }] });
  await push(site.store, "q1");
  await site.store.workers.heartbeat(workerRecord("web1:7:x"), 60_000);
  await new Crontab({ store: site.store, client: new Client({ store: site.store }) }).add({
    name: "nightly",
    class: "Report",
    rule: "0 3 * * *",
    args: [{ password: SECRET }, `redis://:${SECRET}@host`],
    memo: `Bearer ${SECRET}${SECRET}`,
  });
  return site;
}

/** Everything that an action could change. */
async function stateOf(store: Store): Promise<string> {
  const { enqueued, dead, scheduled, retry, processed } = await store.admin.stats();
  const queues = (await store.admin.stats()).queues.map(({ name, size, paused, limit }) => ({
    name,
    size,
    paused,
    limit,
  }));
  const { entries: crontab } = await new Crontab({ store, client: new Client({ store }) }).page();
  const cron = crontab.map(({ name, definition, state }) => ({ name, definition, state }));
  // Each refusal has an entry.
  const { events } = await readEvents(store, { limit: 1_000 });
  return JSON.stringify({
    enqueued,
    dead,
    scheduled,
    retry,
    processed,
    queues,
    cron,
    events: events.filter(({ action }) => action !== "request"),
  });
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

Deno.test("a reader's forms and bodies change nothing, cron forms included", async () => {
  await using site = await openGuarded();
  const reader = site.visitor();
  const token = /name="token" value="([^"]+)"/.exec(
    (await reader.send("/", { headers: bearer(READER.token) })).text,
  )![1]!;
  const before = await stateOf(site.store);
  for (const [path, fields] of ACTIONS) {
    const isApi = path.startsWith("/api");
    const body = isApi ? JSON.stringify(fields) : new URLSearchParams({ ...fields, token });
    const headers = { ...bearer(READER.token), ...(isApi && { "content-type": "application/json" }) };
    const { status } = await reader.send(path, { method: "POST", body, headers });
    assertEquals([path, status], [path, 403]);
  }
  assertEquals(await stateOf(site.store), before);
});

Deno.test("a reader gets no form that acts", async () => {
  await using site = await openGuarded();
  const [entry] = await site.store.jobs.find(["d1"]);
  const forms = ["/push", `/jobs/d1/edit?ref=${encodeURIComponent(entry!.ref)}`, "/cron-new", "/cron/nightly/edit"];
  for (const path of forms) {
    assertEquals([path, (await site.visitor().send(path, { headers: bearer(READER.token) })).status], [path, 403]);
    assertEquals([path, (await site.visitor().send(path, { headers: bearer(OPERATOR.token) })).status], [path, 200]);
  }
});

Deno.test("a reader sees no secrets of a job or a cron entry", async () => {
  await using site = await openGuarded();
  for (
    const path of [
      "/dead",
      "/jobs/d1",
      "/cron",
      "/cron/nightly",
      "/search?q=password",
      "/api/v1/jobs?in=dead",
      "/api/v1/jobs/d1",
      "/api/v1/cron",
      "/api/v1/cron/nightly",
    ]
  ) {
    const { status, text } = await site.visitor().send(path, { headers: bearer(READER.token) });
    assertEquals([path, status], [path, 200]);
    assert(!text.includes(SECRET), path);
  }
});

Deno.test("odd methods change nothing, even from an operator", async () => {
  await using site = await openGuarded();
  const before = await stateOf(site.store);
  for (const { token } of [READER, OPERATOR]) {
    for (const method of ODD_METHODS) {
      for (
        const path of ["/", "/queues/default/pause", "/cron/nightly/run", "/api/v1/jobs", "/api/v1/jobs/d1/delete"]
      ) {
        const request = new Request(`http://localhost${path}`, {
          method,
          headers: { ...bearer(token), "content-type": "application/json" },
        });
        const { status } = await site.web.handle(request, "127.0.0.1");
        assertEquals([method, path, status], [method, path, 405]);
      }
    }
    const headers = { ...bearer(token), "x-http-method-override": "POST", "x-method-override": "POST" };
    for (const path of ["/queues/default/pause?_method=POST", "/cron/nightly/run?_method=POST", "/api/v1/pause"]) {
      for (const method of ["GET", "HEAD"]) {
        const { status } = await site.visitor().send(path, { method, headers });
        assertEquals([method, path, status], [method, path, 404]);
      }
    }
  }
  assertEquals(await stateOf(site.store), before);
});

Deno.test("odd methods on the wire are refused, and the dashboard keeps running", async () => {
  await using site = await openGuarded();
  await using server = await serve(site.web, { host: "127.0.0.1", port: 0 });
  const before = await stateOf(site.store);
  for (
    const [line, expected] of [
      ["TRACE / HTTP/1.1", /^HTTP\/1\.1 4\d\d /],
      ["CONNECT localhost:6379 HTTP/1.1", /^$|^HTTP\/1\.1 4\d\d /],
      ["OPTIONS * HTTP/1.1", /^HTTP\/1\.1 400 /],
      ["post /queues/default/pause HTTP/1.1", /^HTTP\/1\.1 4\d\d /],
      ["PRI * HTTP/2.0", /^HTTP\/1\.1 (400|505) |^$/],
      ["GET /events HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade", /^HTTP\/1\.1 401 /],
      ["GET / HTTP/1.1\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__", /^HTTP\/1\.1 303 /],
    ] as const
  ) {
    const socket = connect(server.address.port, "127.0.0.1").on("error", () => {});
    let text = "";
    socket.setEncoding("latin1").on("data", (chunk: string) => {
      text += chunk;
      if (text.includes("\r\n\r\n")) socket.destroy();
    });
    const closed = once(socket, "close");
    socket.write(`${line}\r\nHost: localhost\r\n\r\n`);
    await closed;
    assert(expected.test(text), `${line}: ${text.slice(0, 200)}`);
  }
  assertEquals(await stateOf(site.store), before);
  assertEquals(await (await fetch(`http://127.0.0.1:${server.address.port}/healthz`)).text(), "ok\n");
});
