/** The clients in clients/ against servers that aren't the API of `jobs`, or answer it badly. */
import { assert, assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { requireTool } from "../support/tools.ts";

const reply = (status: string, body: string, ...headers: string[]) =>
  [`HTTP/1.1 ${status}`, "connection: close", `content-length: ${Buffer.byteLength(body)}`, ...headers, "", body]
    .join("\r\n");
const json = (body: string, status = "200 OK") => reply(status, body, "content-type: application/json");
const cutOff = (body: string) => json(body).replace(/content-length: \d+/, "content-length: 999");
const unsized = (body: string) => json(body).replace(/content-length: \d+\r\n/, "");

const PUSHED = json('{"jid":"j1"}', "201 Created");
/** Sends a byte at a time, and never ends. */
const DRIPPED = Symbol("dripped");

/** A call of a client, the replies that it gets and its result. The last reply repeats. */
interface Case {
  readonly call?: "push" | "many" | "result" | "aborted";
  readonly replies: readonly (string | typeof DRIPPED)[];
  /** The code and status of the error, or the value. */
  readonly result: unknown;
  /** Requests that the server received. */
  readonly requests?: number;
  readonly message?: RegExp;
}

const INVALID = ["invalid_reply", 200];
const redirect = (status: number, location: string) => reply(`${status} Moved`, "", `location: ${location}`);

const cases = (elsewhere: string): Readonly<Record<string, Case>> => ({
  ...Object.fromEntries(
    [301, 302, 303, 307, 308].map((status): [string, Case] => [`redirect${status}`, {
      replies: [redirect(status, `${elsewhere}/redirect${status}/api/v1/jobs`)],
      result: ["redirected", status],
      message: new RegExp(`answered ${status}, a redirect: use ${elsewhere}/redirect${status}$`),
    }]),
  ),
  login: {
    replies: [redirect(303, `${elsewhere}/login?token=t`)],
    result: ["redirected", 303],
    message: new RegExp(`a redirect to ${elsewhere}/login: expected the API of jobs, check the URL$`),
  },
  "relative": { call: "many", replies: [redirect(302, "/login")], result: ["redirected", 302] },
  "unplaced": { replies: [reply("302 Found", "")], result: ["redirected", 302] },
  "waiting-redirect": {
    call: "result",
    replies: [redirect(308, `${elsewhere}/api/v1/jobs/j1/result?wait=1ms`)],
    result: ["redirected", 308],
    message: new RegExp(`use ${elsewhere}$`),
  },
  page: {
    replies: [reply("200 OK", "<h1>Welcome</h1>", "content-type: text/html")],
    result: INVALID,
    message:
      /answered 200 with "<h1>Welcome<\/h1>" \(text\/html\): expected a reply of the API of jobs, check the URL$/,
  },
  "page-with-json": { replies: [reply("200 OK", '{"jid":"j1"}', "content-type: text/html")], result: INVALID },
  "nameless": { replies: [json("{}")], result: INVALID },
  "number": { replies: [json('{"jid":7}')], result: INVALID },
  "null": { replies: [json("null")], result: INVALID },
  "list": { replies: [json('[{"jid":"j1"}]')], result: INVALID },
  "text": { replies: [json('"j1"')], result: INVALID },
  "error": { replies: [json('{"error":{"code":"x","message":"y"}}')], result: INVALID },
  "no-content": { replies: [reply("204 No Content", "")], result: ["invalid_reply", 204], requests: 5 },
  "object-for-list": { call: "many", replies: [json('{"jid":"j1"}')], result: INVALID },
  "short-list": { call: "many", replies: [json('{"results":[{"jid":"j1"}]}')], result: INVALID },
  "odd-results": { call: "many", replies: [json('{"results":[{"jid":"j1"},null]}')], result: INVALID },
  "unfinished": { call: "result", replies: [json("{}")], result: INVALID },
  "finished-list": { call: "result", replies: [json('{"finished":[]}')], result: INVALID },
  "odd-warnings": { replies: [json('{"jid":"j1","warnings":"no"}')], result: "j1" },
  "odd-error": {
    replies: [reply("403 Forbidden", '{"error":"no"}', "content-type: application/json")],
    result: ["unavailable", 403],
  },
  "odd-message": { replies: [json('{"error":{"code":1,"message":[]}}', "400 Bad")], result: ["unavailable", 400] },
  "cut-off": { replies: [cutOff('{"jid":'), PUSHED], result: "j1", requests: 2 },
  "cut-off-unsized": { replies: [unsized('{"jid":"j'), PUSHED], result: "j1", requests: 2 },
  "cut-off-chunk": {
    replies: ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n20\r\n{"ji', PUSHED],
    result: "j1",
    requests: 2,
  },
  "cut-off-error": { replies: [cutOff("<h1>").replace("200 OK", "503 Busy"), PUSHED], result: "j1", requests: 2 },
  "cut-off-always": { replies: [cutOff('{"jid":')], result: ["unreachable", null], requests: 5 },
  "not-http": { replies: ["SSH-2.0-OpenSSH_9.2\r\n", PUSHED], result: "j1", requests: 2 },
  "closed": { replies: ["", PUSHED], result: "j1", requests: 2 },
  "busy-beyond-the-timeout": {
    call: "result",
    replies: [reply("503 Busy", "", "retry-after: 60")],
    result: ["unavailable", 503],
    requests: 1,
  },
  "aborted-pause": { call: "aborted", replies: [reply("503 Busy", "", "retry-after: 60")], result: true, requests: 1 },
  "dripping": { replies: [DRIPPED], result: ["unreachable", null], requests: 5 },
});

/** A server that answers each case with its replies, byte for byte. Counts the requests of each. */
async function badServer(replies: (name: string, request: number) => string | typeof DRIPPED) {
  const requests = new Map<string, number>();
  const sockets = new Set<Socket>();
  const timers = new Set<ReturnType<typeof setInterval>>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let text = "";
    socket.on("error", () => {});
    socket.on("data", (data: Buffer) => {
      text += data.toString("latin1");
      const end = text.indexOf("\r\n\r\n");
      const [, length = "0"] = /content-length: (\d+)/i.exec(text) ?? [];
      if (end < 0 || text.length < end + 4 + Number(length)) return;
      const name = text.split("/")[1]!;
      text = "";
      const count = (requests.get(name) ?? 0) + 1;
      requests.set(name, count);
      const answer = replies(name, count);
      if (answer !== DRIPPED) return socket.end(answer);
      // Headers from the second request on.
      socket.write(count > 1 ? "HTTP/1.1 200 OK\r\n" : "HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n");
      timers.add(setInterval(() => socket.write("a"), 20));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    requests,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      timers.forEach((timer) => clearInterval(timer));
      sockets.forEach((socket) => socket.destroy());
      server.close();
      await once(server, "close");
    },
  };
}

const DRIVERS = [
  { language: "Node", command: "node", driver: "replies.mjs" },
  { language: "Python", command: "python3", driver: "replies.py" },
  { language: "Ruby", command: "ruby", driver: "replies.rb" },
];

for (const { language, command, driver } of DRIVERS) {
  Deno.test(`the ${language} client rejects redirects and malformed replies, and retries those that were cut off`, async () => {
    requireTool(command);
    await using elsewhere = await badServer(() => PUSHED);
    // In Python nothing aborts a wait.
    const known = Object.entries(cases(elsewhere.url)).filter(([, { call }]) =>
      call !== "aborted" || language === "Node"
    );
    const table = Object.fromEntries(known);
    await using server = await badServer((name, request) => {
      const { replies } = table[name]!;
      return replies[Math.min(request, replies.length) - 1]!;
    });
    const calls = Object.entries(table).map(([name, { call = "push" }]) => ({ name, call }));
    const { success, stdout, stderr } = await new Deno.Command(command, {
      args: [new URL(driver, import.meta.url).pathname, server.url, JSON.stringify(calls)],
      signal: AbortSignal.timeout(60_000),
    }).output();
    assert(success, new TextDecoder().decode(stderr));
    const results = JSON.parse(new TextDecoder().decode(stdout));
    for (const [name, { result, requests = 1, message = /./ }] of Object.entries(table)) {
      const found = results[name];
      assertEquals([name, found.result, server.requests.get(name)], [name, result, requests], found.message);
      if (found.message !== null) assert(message.test(found.message), `${name}: ${found.message}`);
      assert(!/secret/.test(found.message), found.message);
    }
    assertEquals(elsewhere.requests.size, 0);
  });
}
