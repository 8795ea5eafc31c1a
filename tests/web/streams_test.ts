/** Event streams: their limits, and visitors that leave at odd moments. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { once } from "node:events";
import { connect } from "node:net";
import { serve } from "../../src/web/http/serve.ts";
import { until } from "../support/eventually.ts";
import { openSite, quickSecret, type Site } from "./site.ts";

/** The limit of streams for one address. */
const MAX_STREAMS = 50;

/** Opens a stream and leaves it; returns the status. */
async function watch(site: Site, init: RequestInit = {}): Promise<number> {
  const response = await site.web.handle(new Request("http://localhost/events", init), "10.0.0.5");
  await response.body?.cancel();
  return response.status;
}

Deno.test("HEAD /events opens no stream", async () => {
  await using site = await openSite("sqlite");
  for (let i = 0; i <= MAX_STREAMS; i++) assertEquals(await watch(site, { method: "HEAD" }), 200);
  assertEquals(await watch(site), 200);
});

Deno.test("a visitor who left before the stream opened takes no place", async () => {
  await using site = await openSite("sqlite");
  for (let i = 0; i <= MAX_STREAMS; i++) {
    const response = await site.web.handle(
      new Request("http://localhost/events", { signal: AbortSignal.abort() }),
      "10.0.0.5",
    );
    // The connection has ended: nothing reads the stream or cancels it.
    assertEquals(response.status < 500, true);
  }
  assertEquals(await watch(site), 200);
});

Deno.test("connections that end during their login check leave no streams behind", async () => {
  await using site = await openSite("sqlite", { users: [`ann:reader:${quickSecret("correct horse")}`] });
  await using server = await serve(site.web, { host: "127.0.0.1", port: 0 });
  const ask = async (method: string) => {
    const socket = connect(server.address.port, "127.0.0.1").on("error", () => {});
    await once(socket, "connect");
    const login = `Authorization: Basic ${btoa("ann:correct horse")}`;
    socket.write(`${method} /events HTTP/1.1\r\nHost: localhost\r\n${login}\r\n\r\n`);
    let text = "";
    socket.on("data", (chunk) => text += chunk);
    return {
      answered: () => until(() => text.includes("\r\n\r\n"), "a response").then(() => text),
      leave: async () => {
        if (socket.closed) return;
        const closed = once(socket, "close");
        socket.destroy();
        await closed;
      },
    };
  };
  // The first check of the password is slow: these leave meanwhile.
  const early = await Promise.all(Array.from({ length: 2 }, () => ask("GET")));
  await Promise.all(early.map(({ leave }) => leave()));
  const first = await ask("HEAD");
  assertMatch(await first.answered(), /^HTTP\/1\.1 200 /);
  await first.leave();
  const streams = await Promise.all(Array.from({ length: MAX_STREAMS }, () => ask("GET")));
  for (const { answered } of streams) assertMatch(await answered(), /^HTTP\/1\.1 200 /);
  await Promise.all(streams.map(({ leave }) => leave()));
});

Deno.test("event streams are limited, and end with the dashboard", async () => {
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

Deno.test("event streams of one address are limited, also through a proxy", async () => {
  await using site = await openSite("sqlite", { proxies: ["127.0.0.1"] });
  const watch = (from: string) =>
    site.web.handle(new Request("http://localhost/events", { headers: { "x-forwarded-for": from } }), "127.0.0.1");
  const streams = await Promise.all(Array.from({ length: 50 }, () => watch("10.0.0.1")));
  const refused = await watch("10.0.0.1");
  assertEquals(refused.status, 503);
  assertStringIncludes(await refused.text(), "Too many pages from 10.0.0.1 follow live updates");
  const other = await watch("10.0.0.2");
  assertEquals(other.status, 200);
  await streams.pop()!.body!.cancel();
  const again = await watch("10.0.0.1");
  assertEquals(again.status, 200);
  for (const { body } of [...streams, other, again]) await body!.cancel();
});
