/** Proxies are trusted where a setting names them, and nowhere else. */
import { assertEquals, assertThrows } from "@std/assert";
import { newToken } from "../../src/web/auth/accounts.ts";
import { createWeb } from "../../src/web/web.ts";
import { FakeClock } from "../support/clock.ts";
import { openSite, type Site } from "./site.ts";

const USERS = [`ci:reader:${newToken().secret}`];
const LOOPBACK = ["127.0.0.1", "::1"];

/** Guesses a token, each time with another forwarded address; returns the last status. */
async function guess(site: Site, peer: string, times: number): Promise<number> {
  let status = 0;
  for (let i = 0; i < times; i++) {
    const headers = { "authorization": `Bearer ${i}`, "x-forwarded-for": `10.1.0.${i}` };
    status = (await site.visitor(peer).send("/", { headers })).status;
  }
  return status;
}

Deno.test("throttles guesses from one machine whatever X-Forwarded-For claims", async () => {
  await using site = await openSite("sqlite", { users: USERS, clock: new FakeClock() });
  for (const peer of LOOPBACK) assertEquals([peer, await guess(site, peer, 6)], [peer, 429]);
});

Deno.test("X-Forwarded-For counts from a named proxy", async () => {
  await using site = await openSite("sqlite", { users: USERS, proxies: LOOPBACK, clock: new FakeClock() });
  for (const peer of LOOPBACK) assertEquals([peer, await guess(site, peer, 6)], [peer, 401]);
});

Deno.test("the proxy's user header requires a named proxy", async () => {
  await using site = await openSite("sqlite");
  assertThrows(
    () => createWeb({ store: site.store, proxyHeader: "X-User" }),
    RangeError,
    'web.proxyHeader is "X-User", but web.proxies is empty; expected the addresses of the proxies that set it',
  );
});

Deno.test("a proxy's header names the user, from that proxy's address alone", async () => {
  await using site = await openSite("sqlite", {
    users: ["ann:operator", "*:reader"],
    proxyHeader: "X-User",
    proxies: ["10.0.0.1"],
  });
  const ask = async (peer: string, user: string | undefined) =>
    (await site.visitor(peer).api("POST", "/jobs", { class: "A" }, user === undefined ? {} : { "x-user": user }))
      .status;
  assertEquals(await ask("10.0.0.1", "ann"), 201);
  assertEquals(await ask("10.0.0.1", "bob"), 403);
  assertEquals(await ask("10.0.0.1", undefined), 401);
  assertEquals(await ask("10.0.0.2", "ann"), 401);
});

Deno.test("of the addresses that a proxy forwards, the last counts", async () => {
  await using site = await openSite("sqlite", { users: USERS, proxies: ["10.0.0.1"], clock: new FakeClock() });
  const guess = async (from: string) => {
    const headers = { "authorization": "Bearer x", "x-forwarded-for": from, "forwarded": `for=${from}` };
    return (await site.visitor("10.0.0.1").send("/", { headers })).status;
  };
  for (let i = 0; i < 5; i++) assertEquals(await guess(`10.3.0.${i}, 203.0.113.7`), 401);
  assertEquals([await guess("10.3.0.99, 203.0.113.7"), await guess("203.0.113.8")], [429, 401]);
});
