/** Requests that are costly to refuse: how much of their bodies the dashboard reads and parses. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { once } from "node:events";
import { connect } from "node:net";
import { newToken } from "../../src/web/auth/accounts.ts";
import { systemClock } from "../../src/clock.ts";
import { serve } from "../../src/web/http/serve.ts";
import { FakeClock } from "../support/clock.ts";
import { until } from "../support/eventually.ts";
import { openSite, quickSecret, type Site, type Visitor } from "./site.ts";

const ANN = `ann:operator:${quickSecret("correct horse")}`;
const { token: READER, secret: READER_SECRET } = newToken();
const { token: OPERATOR, secret: OPERATOR_SECRET } = newToken();
const USERS = [ANN, `eve:reader:${READER_SECRET}`, `ci:operator:${OPERATOR_SECRET}`];

const FORM = "application/x-www-form-urlencoded";
const MIB = 1024 * 1024;

/** An endless body that counts the bytes taken from it. */
function endless(text = "&a"): { readonly body: ReadableStream<Uint8Array>; readonly taken: () => number } {
  const chunk = new TextEncoder().encode(text.repeat(2_048));
  let taken = 0;
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    taken += chunk.byteLength;
    controller.enqueue(chunk);
  };
  return { body: new ReadableStream({ pull }, { highWaterMark: 0 }), taken: () => taken };
}

/** Sends an endless body; returns the status, and the number of bytes read before the response. */
async function flood(
  who: Visitor,
  path: string,
  headers: Record<string, string> = { "content-type": FORM },
): Promise<{ readonly status: number; readonly read: number }> {
  const { body, taken } = endless();
  const { status } = await who.send(path, { method: "POST", body, headers });
  return { status, read: taken() };
}

async function withLogin(test: (site: Site, clock: FakeClock) => Promise<void>): Promise<void> {
  const clock = new FakeClock();
  await using site = await openSite("sqlite", { users: USERS, clock });
  await test(site, clock);
}

Deno.test("POST /login reads at most 16 KiB", () =>
  withLogin(async (site) => {
    const { status, read } = await flood(site.visitor(), "/login");
    assertEquals(status, 413);
    assert(read <= 32 * 1024, `${read} bytes read`);
    const declared = { "content-type": FORM, "content-length": String(3 * MIB) };
    assertEquals(await flood(site.visitor(), "/login", declared), { status: 413, read: 0 });
  }));

Deno.test("POST /login of a throttled address is refused before its body is read", () =>
  withLogin(async (site) => {
    const guesser = site.visitor("10.0.0.9");
    for (let i = 0; i < 5; i++) await guesser.send("/", { headers: { authorization: `Bearer ${i}` } });
    assertEquals(await flood(guesser, "/login"), { status: 429, read: 0 });
  }));

Deno.test("POST /login hashes no password over 1 KiB", () =>
  withLogin(async (site) => {
    const body = new URLSearchParams({ name: "ann", password: "\u0316\u0301".repeat(400) });
    const { status, text } = await site.visitor().send("/login", { method: "POST", body });
    assertEquals(status, 401);
    assertStringIncludes(text, "Name or password is wrong.");
  }));

Deno.test("without a login, or with a reader's, forms and JSON are refused before they are read", () =>
  withLogin(async (site) => {
    for (const path of ["/queues/default/pause", "/push", "/theme", "/nowhere", "/api/v1/jobs", "/api/v1/pause"]) {
      const type = path.startsWith("/api") ? "application/json" : FORM;
      assertEquals(await flood(site.visitor(), path, { "content-type": type }), { status: 401, read: 0 }, path);
      if (path === "/theme") continue;
      const headers = { "content-type": type, authorization: `Bearer ${READER}` };
      assertEquals(await flood(site.visitor(), path, headers), { status: 403, read: 0 }, path);
    }
  }));

Deno.test("a connection whose body was refused gets a response and ends; the rest isn't read", async () => {
  await using site = await openSite("sqlite", { users: USERS });
  await using server = await serve(site.web, { host: "127.0.0.1", port: 0 });
  for (const [path, status] of [["/login", 413], ["/push", 401]] as const) {
    const socket = connect(server.address.port, "127.0.0.1").on("error", () => {});
    let text = "";
    socket.setEncoding("latin1").on("data", (chunk: string) => text += chunk);
    await once(socket, "connect");
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${FORM}\r\nContent-Length: 999999999\r\n\r\n`,
    );
    const chunk = new Uint8Array(64 * 1024).fill(0x61);
    let sent = 0;
    await until(() => {
      while (!socket.destroyed && !socket.writableNeedDrain && sent < 100 * MIB) {
        socket.write(chunk);
        sent += chunk.byteLength;
      }
      return socket.destroyed;
    }, "The end of the connection");
    assertStringIncludes(text, `HTTP/1.1 ${status} `);
    // The kernel buffers some bytes of a connection that isn't read.
    assert(sent < 32 * MIB, `${sent} bytes sent`);
  }
});

Deno.test("a connection whose small body was refused stays open", async () => {
  await using site = await openSite("sqlite", { users: USERS });
  await using server = await serve(site.web, { host: "127.0.0.1", port: 0 });
  const socket = connect(server.address.port, "127.0.0.1").on("error", () => {});
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk: string) => text += chunk);
  await once(socket, "connect");
  socket.write(`POST /push HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${FORM}\r\nContent-Length: 7\r\n\r\ntoken=x`);
  await until(() => text.includes("HTTP/1.1 401 "), "the refusal");
  socket.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  await until(() => text.endsWith("ok\n"), "the response to the next request");
  socket.destroy();
});

Deno.test("the forms that a reader may send, /theme and /logout, are read up to 16 KiB", () =>
  withLogin(async (site) => {
    for (const path of ["/theme", "/logout"]) {
      const headers = { "content-type": FORM, authorization: `Bearer ${READER}` };
      const { status, read } = await flood(site.visitor(), path, headers);
      assertEquals([path, status], [path, 413]);
      assert(read <= 32 * 1024, `${path}: ${read} bytes read`);
    }
  }));

Deno.test("a form with too many fields is refused before it is split", () =>
  withLogin(async (site) => {
    const headers = { "content-type": FORM, authorization: `Bearer ${OPERATOR}` };
    const { status, text } = await site.visitor().send("/jobs/act", {
      method: "POST",
      body: "&a".repeat(MIB),
      headers,
    });
    assertEquals(status, 413);
    assertStringIncludes(text, "fields");
  }));

Deno.test("parsing a large list of jobs doesn't block the event loop", async () => {
  await using site = await openSite("sqlite");
  const jobs = Array.from({ length: 2_000 }, (_, i) => ({ class: "A", args: Array(400).fill(i), nothing: 9 }));
  // One integer beyond 2^53 is enough to have each of them inspected.
  const body = JSON.stringify(jobs).replace(/"class":"A"/g, '"class":7,"large":12345678901234567890');
  assert(body.length > 3 * MIB);
  const someone = site.visitor();
  let turns = 0;
  let isOver = false;
  const watching = (async () => {
    for (; !isOver; turns++) await systemClock.turn();
  })();
  const answer = await someone.send("/api/v1/jobs", {
    method: "POST",
    body,
    headers: { "content-type": "application/json" },
  });
  isOver = true;
  await watching;
  assertEquals(answer.status, 200, "none is stored");
  assertEquals(JSON.parse(answer.text).results.length, 2_000);
  assert(turns > body.length / (256 * 1024), `${turns} turns`);
});

Deno.test("a job in a list may be as large as a payload, in any notation, and no larger", async () => {
  await using site = await openSite("sqlite", { maxPayloadBytes: 10_000 });
  const someone = site.visitor();
  const send = async (body: string) => {
    const { status, text } = await someone.send("/api/v1/jobs", {
      method: "POST",
      body,
      headers: { "content-type": "application/json" },
    });
    return { status, value: JSON.parse(text) };
  };
  const fits = await send(` [ {"class":"A"} ,\n{"class":"B","args":["${"\\u0061".repeat(3_000)}"]} ] `);
  assertEquals([fits.status, fits.value.results.length], [201, 2]);
  const large = await send(`[{"class":"A"},{"class":"B","args":["${"a".repeat(3_000_000)}"]}]`);
  assertEquals([large.status, large.value.error.message.includes("job 2")], [413, true]);
  for (
    const [body, problem] of [
      ["[{},]", "invalid JSON"],
      ["[{}{}]", "invalid JSON"],
      ["[{}", "invalid JSON"],
      ["[{}] x", "invalid JSON"],
      ["[,{}]", "invalid JSON"],
    ] as const
  ) {
    const { status, value } = await send(body);
    assertEquals(status, 400, body);
    assertStringIncludes(value.error.message, problem, body);
  }
  assertEquals((await send("[]")).value, { results: [] });
});
