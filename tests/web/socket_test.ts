/** The dashboard on a real socket: slow clients, and requests that are none. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { connect, type Socket } from "node:net";
import { once } from "node:events";
import { systemClock } from "../../src/clock.ts";
import { type HttpServer, listen, type Patience } from "../../src/web/http.ts";
import { serve } from "../../src/web/serve.ts";
import { until } from "../support/eventually.ts";
import { openSite, push, type Site } from "./site.ts";

/** What everybody is given so little of that a test need not wait. */
const HASTY: Partial<Patience> = { headMs: 1_000, requestMs: 1_500, idleMs: 1_000 };

/** A dashboard with a queue on a socket. */
async function onSocket(
  test: (tools: { site: Site; port: number; base: string }) => Promise<void>,
  patience?: Partial<Patience>,
  proxies: readonly string[] = [],
): Promise<void> {
  await using site = await openSite("sqlite", { proxies });
  await using server = await serve(site.web, { host: "127.0.0.1", port: 0 }, patience);
  const { port } = server.address;
  await test({ site, port, base: `http://127.0.0.1:${port}` });
}

/** A connection that sends what it is told, and keeps what comes back. */
class Wire implements AsyncDisposable {
  text = "";
  readonly ended: Promise<unknown>;
  readonly #socket: Socket;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding("latin1").on("data", (text: string) => void (this.text += text));
    socket.on("error", () => {});
    this.ended = new Promise((resolve) => socket.once("close", resolve));
  }

  static async open(port: number): Promise<Wire> {
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    return new Wire(socket);
  }

  /** Whether the other end has hung up. */
  get isOver(): boolean {
    return this.#socket.destroyed || this.#socket.readableEnded;
  }

  /** Reads nothing until {@link resume}. */
  pause(): void {
    this.#socket.pause();
  }

  /** Reads what has come. */
  resume(): void {
    this.#socket.resume();
  }

  /** Sends as it is; false when the other end has gone. */
  send(text: string): boolean {
    return this.#socket.writable && this.#socket.write(text, "latin1");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.destroy();
    await this.ended;
  }
}

/** Sends a request as it is and returns what came back when the other end hung up. */
async function ask(port: number, text: string): Promise<string> {
  await using wire = await Wire.open(port);
  wire.send(text);
  await wire.ended;
  return wire.text;
}

const FORM = "POST /theme HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n";

Deno.test("Slow clients are dropped, and nobody else notices", () =>
  onSocket(async ({ port, base }) => {
    const beginnings = {
      "nothing at all": "",
      "half a head": "GET / HTTP/1.1\r\nHost: local",
      "half a body": `${FORM}Content-Length: 1000\r\n\r\ntoken=`,
      "a chunk that never ends": `${FORM}Transfer-Encoding: chunked\r\n\r\n5\r\ntok`,
      "nothing after an answer": "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
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
    assertEquals((await fetch(`${base}/queues`).then((answer) => answer.text())).includes("Queues"), true);
    for (const { what, wire } of slow) {
      await wire.ended;
      if (!what.startsWith("nothing")) assertStringIncludes(wire.text, "408 Request Timeout", what);
    }
  }, HASTY));

Deno.test("Whoever sends a head or a body byte by byte is dropped all the same", () =>
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

Deno.test("One address cannot take all connections", () =>
  onSocket(async ({ port }) => {
    await using stack = new AsyncDisposableStack();
    for (let i = 0; i < 3; i++) stack.use(await Wire.open(port));
    await using fourth = await Wire.open(port);
    await fourth.ended;
    await stack.disposeAsync();
    await until(async () => {
      await using wire = await Wire.open(port);
      wire.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
      await wire.ended;
      return wire.text.startsWith("HTTP/1.1 200");
    });
  }, { perAddress: 3 }));

Deno.test("Behind a proxy is everybody: only the bound for all holds for its connections", () =>
  onSocket(
    async ({ port }) => {
      await using stack = new AsyncDisposableStack();
      const wires = [];
      for (let i = 0; i < 3; i++) wires.push(stack.use(await Wire.open(port)));
      for (const wire of wires) {
        wire.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
        await until(() => wire.text.startsWith("HTTP/1.1 200"), "An answer");
      }
      await using fourth = await Wire.open(port);
      await fourth.ended;
      assertEquals(fourth.text, "");
    },
    { perAddress: 1, connections: 3 },
    ["127.0.0.1"],
  ));

Deno.test("Who does not read what was asked for is dropped", () =>
  onSocket(async ({ site, port }) => {
    for (let i = 0; i < 50; i++) await push(site.store, `j${i}`, { args: ["x".repeat(100_000)] });
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    socket.pause();
    for (let i = 0; i < 5; i++) socket.write("GET /api/v1/jobs?in=queue:default HTTP/1.1\r\nHost: localhost\r\n\r\n");
    socket.on("error", () => {});
    // While it is there, nobody else from its address is let in.
    await until(async () => {
      await using wire = await Wire.open(port);
      wire.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
      await wire.ended;
      return wire.text.startsWith("HTTP/1.1 200");
    }, "The end of the connection");
    socket.destroy();
  }, { silentMs: 200, perAddress: 1 }));

/** More than a connection's buffers hold. */
const LARGE = 12 * 1024 * 1024;
const GET_LARGE = "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n";

/** A server whose answers are large, except to `/small`; it tells which paths were asked for. */
async function largeAnswers(
  test: (server: HttpServer, asked: string[]) => Promise<void>,
  patience?: Partial<Patience>,
): Promise<void> {
  const asked: string[] = [];
  const large = new Uint8Array(LARGE);
  const handler = (request: Request) => {
    const { pathname } = new URL(request.url);
    asked.push(pathname);
    return Promise.resolve(new Response(pathname === "/small" ? `answer ${asked.length};` : large));
  };
  const options = { host: "127.0.0.1", port: 0, clock: systemClock, proxies: [] };
  const server = await listen(handler, { ...options, ...(patience && { patience }) });
  try {
    await test(server, asked);
  } finally {
    await server.close();
  }
}

Deno.test("Requests sent ahead are not looked at before the answer to the one before them was read", () =>
  largeAnswers(async ({ port }, asked) => {
    await using ahead = await Wire.open(port);
    ahead.pause();
    ahead.send(GET_LARGE.repeat(5));
    await until(() => asked.length > 0, "The first request");
    for (let i = 0; i < 3; i++) {
      const answer = await ask(port, "GET /small HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
      assertMatch(answer, /^HTTP\/1\.1 200 .*answer/s);
    }
    assertEquals(asked.filter((path) => path === "/large").length, 1);
  }));

Deno.test("Requests sent ahead are answered one after the other to whoever reads", () =>
  largeAnswers(async ({ port }) => {
    const one = "GET /small HTTP/1.1\r\nHost: localhost\r\n";
    const answers = await ask(port, `${one}\r\n`.repeat(4) + `${one}Connection: close\r\n\r\n`);
    assertEquals(answers.match(/answer \d+/g), Array.from({ length: 5 }, (_, i) => `answer ${i + 1}`));
  }));

Deno.test("Whoever sends thousands of requests ahead is dropped, of whatever kind they are", () =>
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

Deno.test("What many do not read has a bound in all: who has let it wait longest is dropped", () =>
  largeAnswers(async ({ port }, asked) => {
    await using stack = new AsyncDisposableStack();
    const idle: Wire[] = [];
    for (let i = 1; i <= 4; i++) {
      const wire = stack.use(await Wire.open(port));
      wire.pause();
      wire.send(GET_LARGE);
      await until(() => asked.length === i, "A request");
      idle.push(wire);
    }
    const close = "GET /large HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    assert((await ask(port, close)).length > LARGE, "Who reads has it all");
    for (const wire of idle.slice(0, -1)) {
      wire.resume();
      await wire.ended;
      assert(wire.text.length < LARGE);
    }
  }, { unreadBytes: 2 * LARGE }));

Deno.test("Connections that have ended leave nothing in memory", async () => {
  const script = `
    import { connect, Server } from "node:net";
    import { systemClock } from "${import.meta.resolve("../../src/clock.ts")}";
    import { listen } from "${import.meta.resolve("../../src/web/http.ts")}";
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
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-lock", "--v8-flags=--expose-gc", script],
  }).output();
  const [all, left] = new TextDecoder().decode(stdout).split(" ").map(Number);
  assertEquals(all, 40);
  assert(left! < 10, `${left} are left`);
});

Deno.test("Ends at once, though others hold connections", async () => {
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

Deno.test("What is no request, or two in one, is refused, and its second half is never read", () =>
  onSocket(async ({ site, port }) => {
    const host = "Host: localhost\r\n";
    const smuggled = `POST /queues/default/pause HTTP/1.1\r\n${host}\r\n`;
    const chunked = "Transfer-Encoding: chunked\r\n";
    const body = `\r\n0\r\n\r\n${smuggled}`;
    const requests: Record<string, string> = {
      "both lengths": `${FORM}Content-Length: 6\r\n${chunked}${body}`,
      "both lengths, the other way round": `${FORM}${chunked}Content-Length: 6\r\n${body}`,
      "two lengths": `${FORM}Content-Length: 0\r\nContent-Length: 44\r\n\r\n${smuggled}`,
      "a length with a sign": `${FORM}Content-Length: +0\r\n\r\n${smuggled}`,
      "a length of two numbers": `${FORM}Content-Length: 0, 44\r\n\r\n${smuggled}`,
      "an unknown coding": `${FORM}Transfer-Encoding: xchunked\r\n${body}`,
      "chunked, but not last": `${FORM}Transfer-Encoding: chunked, identity\r\n${body}`,
      "a space before the colon": `${FORM}Transfer-Encoding : chunked\r\n${body}`,
      "a folded header": `${FORM}Transfer-Encoding:\r\n chunked\r\nX: y\r\n ${body}`,
      "a chunk's length that is none": `${FORM}${chunked}\r\n0x0\r\n\r\n${smuggled}`,
      "bare line feeds": `GET / HTTP/1.1\nHost: localhost\n\n${smuggled}`,
      "no host": `GET / HTTP/1.1\r\n\r\n${smuggled}`,
      "two hosts": `GET / HTTP/1.1\r\n${host}Host: evil.example\r\n\r\n`,
      "a host with a path": `GET / HTTP/1.1\r\nHost: localhost/evil\r\n\r\n`,
      "a host with a user": `GET / HTTP/1.1\r\nHost: localhost@evil.example\r\n\r\n`,
      "a host that is markup": `GET / HTTP/1.1\r\nHost: <x-attack>\r\n\r\n`,
      "a whole address": `GET http://evil.example/ HTTP/1.1\r\n${host}\r\n`,
      "a whole address of ours": `GET http://localhost/ HTTP/1.1\r\n${host}\r\n`,
      "a star": `OPTIONS * HTTP/1.1\r\n${host}\r\n`,
      "a tunnel": `CONNECT evil.example:443 HTTP/1.1\r\n${host}\r\n`,
      "a trace": `TRACE / HTTP/1.1\r\n${host}\r\n`,
      "a NUL in a header": `GET / HTTP/1.1\r\n${host}X: a\0b\r\n\r\n`,
      "no HTTP": `\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03${"\0".repeat(100)}`,
      "a huge head": `GET / HTTP/1.1\r\n${host}X: ${"a".repeat(1_000_000)}\r\n\r\n`,
      "a huge path": `GET /${"a".repeat(100_000)} HTTP/1.1\r\n${host}\r\n`,
    };
    for (const [what, text] of Object.entries(requests)) {
      const answer = await ask(port, text);
      if (what.startsWith("a huge")) assertMatch(answer, /^(HTTP\/1.1 431 .*)?$/s, what);
      else if (what === "a tunnel") assertEquals(answer, "", what);
      else assertMatch(answer, /^HTTP\/1\.1 400 /, what);
      assertEquals(answer.match(/HTTP\/1\.1 \d{3}/g)?.length ?? 0, what === "a tunnel" ? 0 : answer ? 1 : 0, what);
    }
    assertEquals((await site.store.queues()).some((queue) => queue.paused), false);
  }));

Deno.test("Names that point here from elsewhere are refused on the wire", () =>
  onSocket(async ({ port }) => {
    const status = async (host: string, path = "/healthz") => {
      const text = `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
      return Number(/^HTTP\/1\.1 (\d{3})/.exec(await ask(port, text))?.[1]);
    };
    for (
      const host of [
        "evil.example",
        `evil.example:${port}`,
        "localhost.",
        "localhost.evil.example",
        "localhost:",
        "localhost:port",
        "localhost:99999999",
        "127.0.0.1.",
        "127.0.0.1.evil.example",
        "0x7f.1",
        "2130706433",
        "[::1",
        "[::1].evil.example",
        "lоcalhost",
      ]
    ) {
      const got = await status(host);
      assert(got === 403 || got === 400, `${host}: ${got}`);
    }
    for (const host of ["localhost", "LocalHost:80", `127.0.0.1:${port}`, "[::1]:7433"]) {
      assertEquals(await status(host), 200, host);
    }
  }));

Deno.test("No spelling of a path leads to a file or to another page's action", () =>
  onSocket(async ({ site, port }) => {
    const paths = [
      "/assets/../../../etc/passwd",
      "/assets/..%2f..%2f..%2fetc%2fpasswd",
      "/assets/..%252f..%252fetc%252fpasswd",
      "/assets/%2e%2e/%2e%2e/etc/passwd",
      "/assets/..%c0%af..%c0%afetc/passwd",
      "/assets/..\\..\\etc\\passwd",
      "/assets/..%5c..%5cetc%5cpasswd",
      "/assets/....//....//etc/passwd",
      "/assets/live.js%00.txt",
      "/assets/;/live.js",
      "/assets/%6c%69%76%65.js/..",
      "//evil.example/",
      "///etc/passwd",
      "/\\evil.example/",
      "/%2f%2fevil.example/",
      "/file:///etc/passwd",
      "/queues/..%2f..%2fetc",
      "/queues/%00",
      "/queues/%ff",
      "/queues/%",
      "/jobs/%e0%80%ae/edit",
    ];
    for (const path of paths) {
      const answer = await ask(port, `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
      assertMatch(answer, /^HTTP\/1\.1 40\d /, path);
      assert(!answer.includes("root:"), path);
      assert(!/^location:/im.test(answer), path);
    }
    await push(site.store, "q1");
    const tricks = ["/queues/default/pause", "/theme/../queues/default/pause", "/logout/%2e%2e/queues/default/pause"];
    for (const path of tricks) {
      await ask(
        port,
        `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n` +
          "Content-Length: 7\r\nConnection: close\r\n\r\ntoken=x",
      );
    }
    assertEquals((await site.store.queues()).some((queue) => queue.paused), false);
  }));

Deno.test("A body without a length, and one that lies about it, have a bound", () =>
  onSocket(async ({ port }) => {
    const head = "POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    assertMatch(
      await ask(port, `${head}Content-Length: 999999999999\r\nConnection: close\r\n\r\n[`),
      /^HTTP\/1\.1 413 /,
    );
    await using wire = await Wire.open(port);
    wire.send(`${head}Transfer-Encoding: chunked\r\n\r\n`);
    const chunk = `10000\r\n${" ".repeat(65_536)}\r\n`;
    await until(() => {
      wire.send(chunk);
      return wire.text !== "" || wire.isOver;
    }, "An answer");
    assertMatch(wire.text, /^HTTP\/1\.1 413 /);
  }));

Deno.test("No answer's header can be split", () =>
  onSocket(async ({ port }) => {
    const crlf = "%0d%0aSet-Cookie:%20evil=1%0d%0a%0d%0a<x-attack>";
    for (const path of [`/queues/a${crlf}`, `/login?next=/${crlf}`, `/${crlf}`, `/push?class=${crlf}`]) {
      const answer = await ask(port, `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
      assertMatch(answer, /^HTTP\/1\.1 \d{3} /, path);
      assert(!/^set-cookie:/im.test(answer.split("\r\n\r\n")[0]!), path);
      assert(!answer.includes("<x-attack>"), path);
    }
  }));
