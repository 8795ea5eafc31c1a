import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { newToken, passwordSecret } from "../../src/web/auth/accounts.ts";
import { readBody, type Refusal } from "../../src/web/body.ts";
import { FakeClock } from "../support/clock.ts";
import { fillHostile, XSS } from "./hostile.ts";
import { bury, onBothStores, openSite, placeOf, push } from "./site.ts";

const PAGES = [
  "/",
  "/busy",
  "/queues",
  "/queues/default",
  "/scheduled",
  "/retries",
  "/dead",
  "/done",
  "/cron",
  "/classes",
  "/processes",
  "/audit",
  "/settings",
  "/push",
  "/metrics",
  "/events",
  "/search?q=a",
  "/jobs/x",
  "/api/v1/stats",
  "/api/v1/jobs?in=dead",
  "/api/v1/history",
  "/api/v1/audit",
];

onBothStores("Nothing of a payload, a process or an address is markup on any page", async ({ store, visitor }) => {
  const cronName = await fillHostile(store, XSS);
  const someone = visitor();
  const [entry] = (await store.page({ in: "dead" })).entries;
  const query = encodeURIComponent(XSS);
  const addresses = [
    ...PAGES.filter((path) => path !== "/events"),
    `/search?q=${query}`,
    `/dead?q=${query}&class=${query}&order=${query}`,
    `/dead?cursor=${query}`,
    `/jobs/${query}`,
    `/jobs/x?ref=${encodeURIComponent(entry!.ref)}`,
    `/jobs/x/edit?ref=${encodeURIComponent(entry!.ref)}`,
    "/jobs/ended",
    `/cron/${encodeURIComponent(cronName)}`,
    `/cron/${encodeURIComponent(cronName)}/edit`,
    "/cron-new",
    `/done?q=${query}`,
    `/audit?limit=${query}`,
    `/audit?cursor=${query}`,
    `/?days=${query}`,
    `/queues/${query}`,
    `/push?class=${query}`,
    `/login?next=${query}`,
    `/${query}`,
  ];
  for (const address of addresses) {
    const { text, status } = await someone.visit(address);
    assert(status < 500, `${address}: ${status}`);
    if (!address.startsWith("/api") && address !== "/metrics") assert(!text.includes("<x-attack"), address);
  }
  someone.cookies.set("jobs_flash", encodeURIComponent(`ok ${XSS}`));
  someone.cookies.set("jobs_theme", encodeURIComponent(XSS));
  assert(!(await someone.visit("/")).text.includes("<x-attack"));
  const refused = await someone.submit("/push", { class: XSS, args: XSS, queue: XSS }, "/push");
  assert(!refused.text.includes("<x-attack"));
  const typed = { name: XSS, rule: XSS, every: XSS, timezone: XSS, class: XSS, args: XSS, queue: XSS };
  for (const more of [{}, { args: "[]", every: "" }, { args: "[]", every: "", rule: "* * * * *", queue: "" }]) {
    assert(!(await someone.submit("/cron-new", { ...typed, ...more }, "/cron-new")).text.includes("<x-attack"));
  }
});

onBothStores(
  "Another site cannot act: neither by form, nor by JSON, nor without the token",
  async ({ store, visitor }) => {
    await bury(store, "d1");
    const someone = visitor();
    const token = /name="token" value="([^"]+)"/.exec((await someone.visit("/")).text)![1]!;
    const fields = { in: "dead", do: "delete:all", confirmed: "yes" };
    const form = (extra: Record<string, string>, headers: Record<string, string>) =>
      someone.send("/jobs/act", { method: "POST", body: new URLSearchParams({ ...fields, ...extra }), headers });
    const json = JSON.stringify({ action: "delete", all: { in: "dead" } });
    const api = (headers: Record<string, string>) =>
      someone.send("/api/v1/actions", { method: "POST", body: json, headers });
    const attempts = {
      "no token": form({}, { "sec-fetch-site": "same-origin" }),
      "a wrong token": form({ token: token.replace(/^./, "!") }, { "sec-fetch-site": "same-origin" }),
      "a neighbour's page": form({ token }, { "sec-fetch-site": "same-site" }),
      "another site": form({ token }, { "sec-fetch-site": "cross-site" }),
      "another origin": form({ token }, { origin: "https://evil.example" }),
      "no origin": form({ token }, { origin: "null" }),
      "JSON from elsewhere": api({ "content-type": "application/json", origin: "https://evil.example" }),
      "JSON as text": api({ "content-type": "text/plain" }),
      "JSON as a form": api({ "content-type": "application/x-www-form-urlencoded" }),
      "a form as text": someone.send("/jobs/act", {
        method: "POST",
        body: `token=${token}&do=delete:all&in=dead&confirmed=yes`,
        headers: { "content-type": "text/plain" },
      }),
      "another method": someone.send("/jobs/act", { method: "PUT", body: new URLSearchParams({ ...fields, token }) }),
    };
    for (const [what, attempt] of Object.entries(attempts)) {
      const { status } = await attempt;
      assert(status === 403 || status === 415 || status === 405, `${what}: ${status}`);
    }
    for (
      const path of ["/jobs/act?in=dead&do=delete:all&confirmed=yes", "/queues/default/pause?", "/processes/stop?"]
    ) {
      await someone.visit(`${path}&token=${token}`);
    }
    assertEquals(await placeOf(store, "d1"), "dead");
    assertEquals((await store.queues()).some((queue) => queue.paused), false);
  },
);

Deno.test("Another name that points here is refused", async () => {
  await using site = await openSite("sqlite", { hosts: ["jobs.example.com"] });
  const someone = site.visitor();
  const ask = async (host: string) => (await someone.send("/", { headers: { host } })).status;
  const foreign = [
    "evil.example",
    "evil.example:7433",
    "localhost.evil.example",
    "localhost@evil.example",
    "127.0.0.1.evil.example",
    "jobs.example.com.evil.example",
    "",
    "localhost:7433:80",
    "127.0.0.1/evil",
  ];
  for (const host of foreign) assertEquals(await ask(host), 403, host);
  for (const host of ["localhost", "LOCALHOST:7433", "127.0.0.1:7433", "[::1]:7433", "jobs.example.com", "10.0.0.5"]) {
    assertEquals(await ask(host), 200, host);
  }
});

Deno.test("Paths lead nowhere else", async () => {
  await using site = await openSite("sqlite");
  const someone = site.visitor();
  const paths = [
    "/assets/..%2fweb.ts",
    "/assets/%2e%2e/%2e%2e/etc/passwd",
    "/assets/constructor",
    "/assets/__proto__",
    "/queues/..%2f..%2fetc",
    "/queues/%00",
    "/queues/a%20b",
    "/queues/%ff",
    "/jobs/%00/edit",
    "//evil.example/",
    "/api/v1/jobs?in=constructor",
    "/api/v1/jobs?in=queue:",
    "/api/v1/nope",
  ];
  for (const path of paths) {
    const { status } = await someone.visit(path);
    assert(status === 404 || status === 400, `${path}: ${status}`);
  }
  for (
    const back of [
      "//evil.example",
      "/\\evil.example",
      "https://evil.example",
      "javascript:alert(1)",
      "/\t/evil",
      "/\n",
    ]
  ) {
    const page = await someone.visit("/");
    const token = /name="token" value="([^"]+)"/.exec(page.text)![1]!;
    const { headers } = await someone.send("/theme", {
      method: "POST",
      body: new URLSearchParams({ token, theme: "dark", back }),
    });
    assertEquals(headers.get("location"), "/", back);
  }
});

Deno.test("Bodies have a bound, in size and in time", async () => {
  await using site = await openSite("sqlite");
  const someone = site.visitor();
  const large = JSON.stringify({ class: "A", args: ["x".repeat(9 * 1024 * 1024)] });
  const headers = { "content-type": "application/json" };
  assertEquals((await someone.send("/api/v1/jobs", { method: "POST", body: large, headers })).status, 413);
  const endless = new ReadableStream<Uint8Array>({ pull: (c) => c.enqueue(new Uint8Array(1024 * 1024)) });
  const answer = await someone.send("/api/v1/jobs", { method: "POST", body: endless, headers });
  assertEquals(answer.status, 413);
  const tooLarge = await someone.api("POST", "/jobs", { class: "A", args: ["x".repeat(2 * 1024 * 1024)] });
  assertEquals(tooLarge.status, 422);

  const clock = new FakeClock();
  const request = new Request("http://localhost/", { method: "POST", body: new ReadableStream({ start() {} }) });
  const reading = readBody(request, 1_000, clock).then(() => undefined, (error: Refusal) => error.status);
  await clock.untilSleeping();
  await clock.advance(10_000);
  assertEquals(await reading, 408);
});

Deno.test("Depth bombs, prototypes and other JSON do no harm", async () => {
  await using site = await openSite("sqlite");
  const someone = site.visitor();
  const send = async (body: string) =>
    (await someone.send("/api/v1/jobs", { method: "POST", body, headers: { "content-type": "application/json" } }))
      .status;
  const bomb = "[".repeat(100_000) + "]".repeat(100_000);
  for (
    const body of [
      "",
      "[",
      "null",
      "7",
      '"x"',
      "\x00",
      `{"class":"A","args":${bomb}}`,
      bomb,
      `{"class":7}`,
      `{"class":"A","queue":"a b"}`,
    ]
  ) {
    const status = await send(body);
    assert(status >= 400 && status < 500 || status === 201 && body === bomb, `${body.slice(0, 30)}: ${status}`);
  }
  assertEquals(await send(`{"class":"A","args":[],"__proto__":{"polluted":true}}`), 201);
  assertEquals(({} as { polluted?: boolean }).polluted, undefined);
  await push(site.store, "deep", { args: [] });
  await site.store.enqueue([{ jid: "bomb", queue: "default", payload: `{"class":"A","jid":"bomb","args":${bomb}}` }]);
  for (
    const path of [
      "/queues/default",
      "/jobs/bomb",
      "/search?q=a",
      "/api/v1/jobs?in=queue:default",
      "/queues/default?q=x",
    ]
  ) {
    assertEquals((await someone.visit(path)).status, 200, path);
  }
});

Deno.test("Whoever has no login sees nothing; guessing is slowed down, for the guesser alone", async () => {
  const clock = new FakeClock();
  const { token, secret } = newToken();
  const users = [`ann:operator:${await passwordSecret("correct horse")}`, `ci:reader:${secret}`];
  await using site = await openSite("sqlite", { users, clock });
  const someone = site.visitor("10.0.0.9");
  for (const path of PAGES) {
    const { status, headers } = await someone.visit(path);
    if (/^\/(api|metrics|events)/.test(path)) assertEquals(status, 401, path);
    else assertStringIncludes(headers.get("location") ?? "", "/login?next=", path);
  }
  const logIn = (who: typeof someone, name: string, password: string) =>
    who.send("/login", { method: "POST", body: new URLSearchParams({ name, password, next: "/dead" }) });
  for (let i = 0; i < 5; i++) assertEquals((await logIn(someone, "ann", `guess ${i}`)).status, 401);
  const held = await logIn(someone, "ann", "correct horse");
  assertEquals([held.status, held.headers.get("retry-after")], [429, "1"]);
  assertEquals(
    (await someone.send("/", { headers: { "x-forwarded-for": "1.2.3.4", authorization: "Bearer no" } })).status,
    429,
  );

  const ann = site.visitor("10.0.0.10");
  const welcome = await logIn(ann, "ann", "correct horse");
  assertEquals([welcome.status, welcome.headers.get("location")], [303, "/dead"]);
  assertStringIncludes(welcome.headers.get("set-cookie")!, "HttpOnly; SameSite=Strict");
  assertEquals((await ann.visit("/dead")).status, 200);
  await clock.advance(1_000);
  assertEquals((await logIn(someone, "ann", "correct horse")).status, 303);

  const cookie = ann.cookies.get("jobs_session")!;
  await ann.submit("/logout", {});
  ann.cookies.set("jobs_session", cookie);
  assertEquals((await ann.visit("/")).status, 303, "an ended session");
  for (const forged of [cookie.replace(/.$/, "~"), cookie.replace(/^./, "A"), "~~~", "", "a".repeat(5_000)]) {
    someone.cookies.set("jobs_session", forged);
    assertEquals((await someone.visit("/")).status, 303, forged);
  }

  const program = site.visitor("10.0.0.11");
  const bearer = { authorization: `Bearer ${token}` };
  assertEquals((await program.api("GET", "/stats", undefined, bearer)).status, 200);
  assertEquals((await program.api("POST", "/jobs", { class: "A" }, bearer)).status, 403, "a reader");
  const basic = { authorization: `Basic ${btoa("ann:correct horse")}` };
  assertEquals((await program.api("POST", "/jobs", { class: "A" }, basic)).status, 201);
  const elsewhere = { ...basic, origin: "https://evil.example" };
  assertEquals(
    (await program.api("POST", "/jobs", { class: "A" }, elsewhere)).status,
    403,
    "a password is sent by itself",
  );
});

Deno.test("A session ends after its time, and the API wants its token with a cookie", async () => {
  const clock = new FakeClock();
  await using site = await openSite("sqlite", {
    users: [`ann:operator:${await passwordSecret("correct horse")}`],
    clock,
  });
  const ann = site.visitor();
  await ann.send("/login", { method: "POST", body: new URLSearchParams({ name: "ann", password: "correct horse" }) });
  const page = await ann.visit("/");
  const token = /name="token" value="([^"]+)"/.exec(page.text)![1]!;
  assertEquals((await ann.api("POST", "/jobs", { class: "A" })).status, 403);
  assertEquals((await ann.api("POST", "/jobs", { class: "A" }, { "x-jobs-token": token })).status, 201);
  clock.set(clock.now() + 12 * 3_600_000 + 1);
  assertEquals((await ann.visit("/")).status, 303);
});

Deno.test("A proxy's header counts from the proxy's address alone", async () => {
  await using site = await openSite("sqlite", {
    users: ["ann:operator", "*:reader"],
    proxyHeader: "X-User",
    proxies: ["10.0.0.1"],
  });
  const ask = async (peer: string, user: string | undefined, body: unknown = { class: "A" }) =>
    (await site.visitor(peer).api("POST", "/jobs", body, user === undefined ? {} : { "x-user": user })).status;
  assertEquals(await ask("10.0.0.1", "ann"), 201);
  assertEquals(await ask("10.0.0.1", "bob"), 403);
  assertEquals(await ask("10.0.0.1", undefined), 401);
  assertEquals(await ask("10.0.0.2", "ann"), 401);
});

Deno.test("Every answer carries its policy, and no page needs more than it allows", async () => {
  await using site = await openSite("sqlite");
  const someone = site.visitor();
  for (const path of [...PAGES.filter((path) => path !== "/events"), "/nope", "/assets/live.js"]) {
    const { headers, text } = await someone.visit(path);
    const policy = headers.get("content-security-policy") ?? "";
    assertStringIncludes(policy, "default-src 'none'");
    assert(!policy.includes("unsafe"), path);
    assertEquals(headers.get("x-content-type-options"), "nosniff");
    if (!path.startsWith("/assets")) {
      assert(!/<script(?![^>]* src=)|<style|\sstyle=|\son\w+=/i.test(text), path);
      assertEquals(headers.get("cache-control"), "no-store");
    }
  }
});

Deno.test("Those who watch have a bound, and end with the dashboard", async () => {
  const site = await openSite("sqlite", { proxies: ["127.0.0.1"] });
  const watch = (peer = "10.0.0.5", headers = {}) =>
    site.web.handle(new Request("http://localhost/events", { headers }), peer);
  const streams = await Promise.all(
    Array.from({ length: 200 }, (_, i) => watch("127.0.0.1", { "x-forwarded-for": `10.0.0.${i % 4}` })),
  );
  assertEquals((await watch()).status, 503);
  const last = streams.pop()!.text();
  for (const { body } of streams) await body!.cancel();
  assertEquals(await watch().then((response) => response.body!.cancel().then(() => response.status)), 200);
  await site[Symbol.asyncDispose]();
  assertStringIncludes(await last, "retry: 3000");
});

Deno.test("One visitor cannot watch in everybody's place, through a proxy either", async () => {
  await using site = await openSite("sqlite", { proxies: ["127.0.0.1"] });
  const watch = (from: string) =>
    site.web.handle(new Request("http://localhost/events", { headers: { "x-forwarded-for": from } }), "127.0.0.1");
  const streams = await Promise.all(Array.from({ length: 50 }, () => watch("10.0.0.1")));
  const refused = await watch("10.0.0.1");
  assertEquals(refused.status, 503);
  assertStringIncludes(await refused.text(), "50 watch from 10.0.0.1 already");
  const other = await watch("10.0.0.2");
  assertEquals(other.status, 200);
  await streams.pop()!.body!.cancel();
  const again = await watch("10.0.0.1");
  assertEquals(again.status, 200);
  for (const { body } of [...streams, other, again]) await body!.cancel();
});
