/** Hostile requests, as tables: all are sent as bytes to one dashboard, and none of them changes its store. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { serve, type Server } from "../../src/web/http/serve.ts";
import { until } from "../support/eventually.ts";
import { bury, openSite, placeOf, push, type Site } from "./site.ts";
import { ask, Wire } from "./wire.ts";

let site: Site;
let server: Server;
let port: number;
/** The fields that the dashboard's forms contain. */
let token: string;

Deno.test.beforeAll(async () => {
  site = await openSite("sqlite", { hosts: ["jobs.example.com"] });
  server = await serve(site.web, { host: "127.0.0.1", port: 0 });
  port = server.address.port;
  await bury(site.store, "d1");
  await push(site.store, "q1");
  token = /name="token" value="([^"]+)"/.exec((await site.visitor().visit("/")).text)![1]!;
});
Deno.test.afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await site[Symbol.asyncDispose]();
});

/** Registers a test. Without sanitizers: the listener's timers and connections outlive it. */
function test(name: string, fn: () => Promise<void>): void {
  Deno.test({ name, fn, sanitizeOps: false, sanitizeResources: false });
}

/** Tests a table of attacks. The store is unchanged after each of them. */
function attacks(title: string, rows: () => Readonly<Record<string, string>>, expected: RegExp): void {
  test(title, async () => {
    for (const [what, request] of Object.entries(rows())) {
      const answer = await ask(port, request);
      assertMatch(answer, expected, what);
      assert((answer.match(/HTTP\/1\.1 \d{3}/g)?.length ?? 0) <= 1, `${what} is answered twice`);
      assert(!answer.includes("root:"), `${what} reads a file`);
      assert(!/^(location|set-cookie):/im.test(answer.split("\r\n\r\n")[0]!), `${what} leads elsewhere`);
      assert(!answer.includes("<x-attack>"), `${what} is markup`);
      assertEquals([await placeOf(site.store, "d1"), await placeOf(site.store, "q1")], ["dead", "queue:default"], what);
      assertEquals((await site.store.admin.stats()).queues.some((queue) => queue.paused), false, what);
    }
  });
}

const HOST = "Host: localhost\r\n";
const CLOSE = "Connection: close\r\n";
const FORM = "Content-Type: application/x-www-form-urlencoded\r\n";
const JSON_TYPE = "Content-Type: application/json\r\n";

function get(path: string, headers: string = HOST): string {
  return `GET ${path} HTTP/1.1\r\n${headers}${CLOSE}\r\n`;
}

function post(path: string, headers: string, body: string, method = "POST"): string {
  const length = new TextEncoder().encode(body).byteLength;
  return `${method} ${path} HTTP/1.1\r\n${HOST}${headers}Content-Length: ${length}\r\n${CLOSE}\r\n${body}`;
}

/** Returns rows that are named by the bytes that they send. */
function named(texts: readonly string[], request: (text: string) => string): Record<string, string> {
  return Object.fromEntries(texts.map((text) => [text, request(text)]));
}

/** Would pause a queue if it were read as a request. */
const SMUGGLED = `POST /queues/default/pause HTTP/1.1\r\n${HOST}\r\n`;

attacks("a request with an ambiguous length gets 400, and nothing after it is read as a request", () => {
  const form = `POST /theme HTTP/1.1\r\n${HOST}${FORM}`;
  const chunked = "Transfer-Encoding: chunked\r\n";
  const body = `\r\n0\r\n\r\n${SMUGGLED}`;
  return {
    "both lengths": `${form}Content-Length: 6\r\n${chunked}${body}`,
    "both lengths, the other way round": `${form}${chunked}Content-Length: 6\r\n${body}`,
    "two lengths": `${form}Content-Length: 0\r\nContent-Length: 44\r\n\r\n${SMUGGLED}`,
    "a length with a sign": `${form}Content-Length: +0\r\n\r\n${SMUGGLED}`,
    "a length of two numbers": `${form}Content-Length: 0, 44\r\n\r\n${SMUGGLED}`,
    "an unknown coding": `${form}Transfer-Encoding: xchunked\r\n${body}`,
    "chunked, but not last": `${form}Transfer-Encoding: chunked, identity\r\n${body}`,
    "a space before the colon": `${form}Transfer-Encoding : chunked\r\n${body}`,
    "a folded header": `${form}Transfer-Encoding:\r\n chunked\r\nX: y\r\n ${body}`,
    "an invalid chunk length": `${form}${chunked}\r\n0x0\r\n\r\n${SMUGGLED}`,
  };
}, /^HTTP\/1\.1 400 /);

attacks("a request that browsers and proxies do not send gets 400", () => ({
  "bare line feeds": `GET / HTTP/1.1\nHost: localhost\n\n${SMUGGLED}`,
  "no host": `GET / HTTP/1.1\r\n\r\n${SMUGGLED}`,
  "an empty host": get("/", "Host: \r\n"),
  "a host with a path": get("/", "Host: localhost/evil\r\n"),
  "a host with a user": get("/", "Host: localhost@evil.example\r\n"),
  "two hosts": get("/", `${HOST}Host: evil.example\r\n`),
  "a whole address": get("http://evil.example/"),
  "a whole address of the dashboard": get("http://localhost/"),
  "a star": `OPTIONS * HTTP/1.1\r\n${HOST}\r\n`,
  "a trace": `TRACE / HTTP/1.1\r\n${HOST}\r\n`,
  "a NUL in a header": get("/", `${HOST}X: a\0b\r\n`),
  "no HTTP": `\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03${"\0".repeat(100)}`,
}), /^HTTP\/1\.1 400 /);

attacks("a tunnel gets no answer", () => ({
  "a tunnel": `CONNECT evil.example:443 HTTP/1.1\r\n${HOST}\r\n`,
}), /^$/);

attacks("a head over 32 KiB gets 431, or no answer", () => ({
  "a large header": get("/", `${HOST}X: ${"a".repeat(1_000_000)}\r\n`),
  "a large path": get(`/${"a".repeat(100_000)}`),
}), /^(HTTP\/1\.1 431 .*)?$/s);

attacks("a host name that another site can point here is refused", () =>
  named([
    "evil.example",
    "evil.example:7433",
    "jobs.example.com.evil.example",
    "localhost.",
    "localhost.evil.example",
    "localhost:",
    "localhost:port",
    "localhost:99999999",
    "localhost:7433:80",
    "127.0.0.1.",
    "127.0.0.1.evil.example",
    "127.0.0.1/evil",
    "0x7f.1",
    "2130706433",
    "[::1",
    "[::1].evil.example",
    "lоcalhost",
    "<x-attack>",
  ], (host) => get("/healthz", `Host: ${host}\r\n`)), /^HTTP\/1\.1 40[03] /);

attacks("localhost, an address and a configured host name are answered", () =>
  named(
    ["localhost", "LocalHost:80", "127.0.0.1:7433", "10.0.0.5", "[::1]:7433", "jobs.example.com"],
    (host) => get("/healthz", `Host: ${host}\r\n`),
  ), /^HTTP\/1\.1 200 /);

attacks("no spelling of a path leads to a file, to another site or to what a page inherits", () =>
  named([
    "/assets/../../../etc/passwd",
    "/assets/%2e%2e/%2e%2e/etc/passwd",
    "/assets/..%2f..%2f..%2fetc%2fpasswd",
    "/assets/..%252f..%252fetc%252fpasswd",
    "/assets/..%c0%af..%c0%afetc/passwd",
    "/assets/..\\..\\etc\\passwd",
    "/assets/..%5c..%5cetc%5cpasswd",
    "/assets/....//....//etc/passwd",
    "/assets/..%2fweb.ts",
    "/assets/live.js%00.txt",
    "/assets/;/live.js",
    "/assets/%6c%69%76%65.js/..",
    "/assets/constructor",
    "/assets/__proto__",
    "//evil.example/",
    "///etc/passwd",
    "/\\evil.example/",
    "/%2f%2fevil.example/",
    "/file:///etc/passwd",
    "/queues/..%2f..%2fetc",
    "/queues/%00",
    "/queues/a%20b",
    "/queues/%ff",
    "/queues/%",
    "/jobs/%00/edit",
    "/jobs/%e0%80%ae/edit",
    "/api/v1/jobs?in=constructor",
    "/api/v1/jobs?in=queue:",
    "/api/v1/nope",
  ], get), /^HTTP\/1\.1 40[04] /);

attacks("a line break in an address splits no header of the answer", () => {
  const crlf = "%0d%0aSet-Cookie:%20evil=1%0d%0a%0d%0a<x-attack>";
  return named([`/queues/a${crlf}`, `/${crlf}`, `/push?class=${crlf}`, `/dead?q=${crlf}`], get);
}, /^HTTP\/1\.1 (200|40[04]) /);

attacks("an action that does not come from the dashboard's own page is refused", () => {
  const action = `in=dead&do=delete&scope=all&confirmed=yes`;
  const signed = `${action}&token=${encodeURIComponent(token)}`;
  const json = JSON.stringify({ action: "delete", all: { in: "dead" } });
  const from = (site: string) => `Sec-Fetch-Site: ${site}\r\n${FORM}`;
  const pause = (path: string) => post(path, FORM, "token=x");
  return {
    "no token": post("/jobs/act", from("same-origin"), action),
    "a wrong token": post("/jobs/act", from("same-origin"), `${action}&token=!${token.slice(1)}`),
    "a neighbour's page": post("/jobs/act", from("same-site"), signed),
    "another site": post("/jobs/act", from("cross-site"), signed),
    "another origin": post("/jobs/act", `Origin: https://evil.example\r\n${FORM}`, signed),
    "no origin": post("/jobs/act", `Origin: null\r\n${FORM}`, signed),
    "JSON from elsewhere": post("/api/v1/actions", `Origin: https://evil.example\r\n${JSON_TYPE}`, json),
    "JSON as text": post("/api/v1/actions", "Content-Type: text/plain\r\n", json),
    "JSON as a form": post("/api/v1/actions", FORM, json),
    "a form as text": post("/jobs/act", "Content-Type: text/plain\r\n", signed),
    "another method": post("/jobs/act", FORM, signed, "PUT"),
    "another page's path": pause("/theme/../queues/default/pause"),
    "a path from a harmless one": pause("/logout/%2e%2e/queues/default/pause"),
  };
}, /^HTTP\/1\.1 (403|405|415) /);

attacks("an address alone does nothing, with the token either", () =>
  named(
    ["/jobs/act?in=dead&do=delete&scope=all&confirmed=yes", "/queues/default/pause?", "/workers/stop?"],
    (path) => get(`${path}&token=${encodeURIComponent(token)}`),
  ), /^HTTP\/1\.1 (200|404) /);

/** Brackets that overflow the stack of a recursive parser. */
const BOMB = "[".repeat(100_000) + "]".repeat(100_000);

attacks("a body that isn't a job is refused", () => {
  const bodies = ["", "[", "null", "7", '"x"', "\x00", '{"class":7}', '{"class":"A","queue":"a b"}'];
  const large = JSON.stringify({ class: "A", args: ["x".repeat(2 * 1024 * 1024)] });
  return {
    ...named(bodies, (body) => post("/api/v1/jobs", JSON_TYPE, body)),
    "a deep payload": post("/api/v1/jobs", JSON_TYPE, `{"class":"A","args":${BOMB}}`),
    "a large payload": post("/api/v1/jobs", JSON_TYPE, large),
    "a body beyond the limit": `POST /api/v1/jobs HTTP/1.1\r\n${HOST}${JSON_TYPE}Content-Length: 999999999999\r\n\r\n[`,
  };
}, /^HTTP\/1\.1 4(00|13|22) /);

test("a body of unknown length is refused once it is too large", async () => {
  await using wire = await Wire.open(port);
  wire.send(`POST /api/v1/jobs HTTP/1.1\r\n${HOST}${JSON_TYPE}Transfer-Encoding: chunked\r\n\r\n`);
  const chunk = `10000\r\n${" ".repeat(65_536)}\r\n`;
  await until(() => {
    wire.send(chunk);
    return wire.text !== "" || wire.isOver;
  }, "An answer");
  await wire.ended;
  assertEquals(wire.status, 413);
});

test("a field that names an object's prototype changes no object", async () => {
  const answer = await ask(
    port,
    post("/api/v1/jobs", JSON_TYPE, '{"class":"A","args":[],"fields":{"__proto__":{"polluted":1}}}'),
  );
  assertMatch(answer, /^HTTP\/1\.1 201 /);
  assertEquals(({} as { polluted?: number }).polluted, undefined);
});

test("every page that lists a job with a very deep payload shows it", async () => {
  await site.store.jobs.enqueue([{ jid: "bomb", queue: "deep", payload: `{"class":"A","jid":"bomb","args":${BOMB}}` }]);
  const paths = ["/queues/deep", "/jobs/bomb", "/search?q=a", "/api/v1/jobs?in=queue:deep", "/queues/deep?q=x"];
  for (const path of paths) assertMatch(await ask(port, get(path)), /^HTTP\/1\.1 200 /, path);
});
