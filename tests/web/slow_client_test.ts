/** Clients that send slowly, read slowly or not at all, or hold many connections. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { systemClock } from "../../src/clock.ts";
import { type HttpLimits, type HttpServer, listen } from "../../src/web/http/http.ts";
import { serve } from "../../src/web/http/serve.ts";
import { until } from "../support/eventually.ts";
import { openSite, push, type Site } from "./site.ts";
import { ask, Wire } from "./wire.ts";
import { denoCommand, outputOf } from "../../scripts/deno_command.ts";

/** Timeouts that a test can wait for. */
const HASTY: Partial<HttpLimits> = { headMs: 200, requestMs: 300, idleMs: 200 };

const GET_HEALTH = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n";

/** Waits until a well-behaved client gets a response. On a stalled machine, it may count as a slow one. */
async function untilServed(port: number): Promise<void> {
  await until(async () => (await ask(port, `${GET_HEALTH}Connection: close\r\n\r\n`)).startsWith("HTTP/1.1 200"));
}

/** A dashboard on a socket, whose store has a queue. */
async function onSocket(
  test: (tools: { site: Site; port: number }) => Promise<void>,
  limits?: Partial<HttpLimits>,
  proxies: readonly string[] = [],
): Promise<void> {
  await using site = await openSite("sqlite", { proxies });
  await using server = await serve(site.web, { host: "127.0.0.1", port: 0 }, limits);
  await test({ site, port: server.address.port });
}

const FORM = "POST /theme HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n";

Deno.test("drops a client that sends slowly, and responds to another client", () =>
  onSocket(async ({ port }) => {
    const beginnings = {
      "nothing at all": "",
      "half a head": "GET / HTTP/1.1\r\nHost: local",
      "half a body": `${FORM}Content-Length: 1000\r\n\r\ntoken=`,
      "a chunk that never ends": `${FORM}Transfer-Encoding: chunked\r\n\r\n5\r\ntok`,
      "nothing after a response": "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    };
    const slow = await Promise.all(
      Object.entries(beginnings).flatMap(([what, text]) =>
        Array.from({ length: 20 }, async () => {
          const wire = await Wire.open(port);
          wire.send(text);
          return { what, wire };
        })
      ),
    );
    await untilServed(port);
    await Promise.all(slow.map(({ wire }) => wire.ended));
    for (const what of Object.keys(beginnings).filter((what) => !what.startsWith("nothing"))) {
      // On a stalled machine, a client may be dropped before it has sent anything, without a response.
      const answers = slow.filter((one) => one.what === what).map(({ wire }) => wire.text);
      assert(answers.some((text) => text.includes("408 Request Timeout")), what);
    }
  }, HASTY));

Deno.test("drops a client that sends a head or a body byte by byte", () =>
  onSocket(async ({ port }) => {
    for (const begin of ["GET / HTTP/1.1\r\nHost: localhost\r\nX-Drip: ", `${FORM}Content-Length: 100000\r\n\r\n`]) {
      await using wire = await Wire.open(port);
      wire.send(begin);
      await until(() => {
        wire.send("x");
        return wire.isOver;
      }, "The end of the connection");
    }
  }, HASTY));

Deno.test("one address can open a limited number of connections", () =>
  onSocket(async ({ port }) => {
    await using stack = new AsyncDisposableStack();
    for (let i = 0; i < 3; i++) stack.use(await Wire.open(port));
    await using fourth = await Wire.open(port);
    await fourth.ended;
    await stack.disposeAsync();
    await untilServed(port);
  }, { perAddress: 3 }));

Deno.test("a proxy's connections count against the total limit alone", () =>
  onSocket(
    async ({ port }) => {
      await using stack = new AsyncDisposableStack();
      const wires = [];
      for (let i = 0; i < 3; i++) wires.push(stack.use(await Wire.open(port)));
      for (const wire of wires) {
        wire.send(`${GET_HEALTH}\r\n`);
        await until(() => wire.text.startsWith("HTTP/1.1 200"), "a response");
      }
      await using fourth = await Wire.open(port);
      await fourth.ended;
      assertEquals(fourth.text, "");
    },
    { perAddress: 1, connections: 3 },
    ["127.0.0.1"],
  ));

Deno.test("drops a client that doesn't read its responses", () =>
  onSocket(async ({ site, port }) => {
    for (let i = 0; i < 50; i++) await push(site.store, `j${i}`, { args: ["x".repeat(100_000)] });
    await using silent = await Wire.open(port);
    silent.pause();
    silent.send("GET /api/v1/jobs?in=queue:default HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(5));
    // While its connection is open, no other connection of its address is accepted.
    await untilServed(port);
  }, { silentMs: 200, perAddress: 1 }));

/** More than the buffers of a connection hold. */
const LARGE = 12 * 1024 * 1024;
const GET_LARGE = "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n";

/** A server with large responses, except at `/small`; it records the requested paths. */
async function largeAnswers(
  test: (server: HttpServer, asked: string[]) => Promise<void>,
  limits?: Partial<HttpLimits>,
): Promise<void> {
  const asked: string[] = [];
  const large = new Uint8Array(LARGE);
  const handler = (request: Request) => {
    const { pathname } = new URL(request.url);
    asked.push(pathname);
    return Promise.resolve(new Response(pathname === "/small" ? `answer ${asked.length};` : large));
  };
  const options = { host: "127.0.0.1", port: 0, clock: systemClock, proxies: [] };
  const server = await listen(handler, { ...options, ...(limits && { limits }) });
  try {
    await test(server, asked);
  } finally {
    await server.close();
  }
}

Deno.test("a pipelined request waits until the response before it was read", () =>
  largeAnswers(async ({ port }, asked) => {
    await using ahead = await Wire.open(port);
    ahead.pause();
    ahead.send(GET_LARGE.repeat(5));
    await until(() => asked.length > 0, "the first request");
    for (let i = 0; i < 3; i++) {
      const answer = await ask(port, "GET /small HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
      assertMatch(answer, /^HTTP\/1\.1 200 .*answer/s);
    }
    assertEquals(asked.filter((path) => path === "/large").length, 1);
  }));

Deno.test("responds to pipelined requests one after the other if the client reads", () =>
  largeAnswers(async ({ port }) => {
    const one = "GET /small HTTP/1.1\r\nHost: localhost\r\n";
    const answers = await ask(port, `${one}\r\n`.repeat(4) + `${one}Connection: close\r\n\r\n`);
    assertEquals(answers.match(/answer \d+/g), Array.from({ length: 5 }, (_, i) => `answer ${i + 1}`));
  }));

Deno.test("drops a client that pipelines thousands of requests of any kind", () =>
  largeAnswers(async ({ port }, asked) => {
    const kinds = {
      "large": GET_LARGE,
      "small": "GET /small HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "without a host": "GET / HTTP/1.1\r\n\r\n",
      "with an expectation": "GET / HTTP/1.1\r\nHost: localhost\r\nExpect: x\r\n\r\n",
    };
    for (const [what, request] of Object.entries(kinds)) {
      asked.length = 0;
      const answers = await ask(port, GET_LARGE + request.repeat(2_000));
      assert(asked.length <= 5, `${what}: ${asked.length}`);
      assert(answers.split("HTTP/1.1 ").length <= 6, what);
    }
  }, { idleMs: 200 }));

Deno.test("unread responses are limited in total: the oldest are dropped", () =>
  largeAnswers(async ({ port }, asked) => {
    await using stack = new AsyncDisposableStack();
    const idle: Wire[] = [];
    for (let i = 1; i <= 4; i++) {
      const wire = stack.use(await Wire.open(port));
      wire.pause();
      wire.send(GET_LARGE);
      await until(() => asked.length === i, "a request");
      idle.push(wire);
    }
    const close = "GET /large HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    assert((await ask(port, close)).length > LARGE, "a client that reads gets the whole response");
    for (const wire of idle.slice(0, -1)) {
      wire.resume();
      await wire.ended;
      assert(wire.text.length < LARGE);
    }
  }, { unreadBytes: 2 * LARGE }));

Deno.test("ended connections leave nothing in memory", async () => {
  const script = `
    import { connect, Server } from "node:net";
    import { systemClock } from "${import.meta.resolve("../../src/clock.ts")}";
    import { listen } from "${import.meta.resolve("../../src/web/http/http.ts")}";
    const sockets = [];
    const { emit } = Server.prototype;
    Server.prototype.emit = function (name, socket) {
      if (name === "connection") sockets.push(new WeakRef(socket));
      return emit.apply(this, arguments);
    };
    const options = { host: "127.0.0.1", port: 0, clock: systemClock, proxies: [] };
    const server = await listen(() => Promise.resolve(new Response("ok")), options);
    const get = "GET / HTTP/1.1\\r\\nHost: localhost\\r\\n";
    for (const text of [get + "Connection: close\\r\\n\\r\\n", (get + "\\r\\n").repeat(100)]) {
      for (let i = 0; i < 20; i++) {
        const socket = connect(server.port, "127.0.0.1", () => socket.write(text));
        socket.resume();
        await new Promise((resolve) => socket.on("error", () => {}).once("close", resolve));
      }
    }
    for (let i = 0; i < 10; i++) await new Promise((resolve) => setTimeout(resolve)).then(gc);
    console.log(sockets.length, sockets.filter((one) => one.deref() !== undefined).length);
    await server.close();
  `;
  const { stdout, stderr } = await outputOf(denoCommand("eval", "--v8-flags=--expose-gc", script));
  const [all, left] = stdout.split(" ").map(Number);
  assertEquals(all, 40, stderr);
  assert(left! < 10, `${left} are left`);
});

Deno.test("the server closes at once while clients hold connections", async () => {
  const site = await openSite("sqlite");
  await using _site = site;
  const server = await serve(site.web, { host: "127.0.0.1", port: 0 });
  await using wire = await Wire.open(server.address.port);
  wire.send("GET / HT");
  const watching = await fetch(`http://127.0.0.1:${server.address.port}/events`);
  await server[Symbol.asyncDispose]();
  await wire.ended;
  await watching.text();
});
