/** Logins: throttled guesses, sessions and their cookies, and attempts of other sites. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { newToken } from "../../src/web/auth/accounts.ts";
import type { WebOptions } from "../../src/web/web.ts";
import { FakeClock } from "../support/clock.ts";
import { openSite, PAGES, quickSecret, type Site, type Visitor } from "./site.ts";

const ANN = `ann:operator:${quickSecret("correct horse")}`;

/** Opens a dashboard with a login, on a separate clock. */
async function guarded(
  test: (site: Site, clock: FakeClock) => Promise<void>,
  options: Partial<WebOptions> = {},
): Promise<void> {
  const clock = new FakeClock();
  await using site = await openSite("sqlite", { users: [ANN], clock, ...options });
  await test(site, clock);
}

/** Submits the login form. */
function sendLogin(
  who: Visitor,
  name: string,
  password: string,
  { headers = {}, next = "/", path = "/login" }: {
    readonly headers?: Record<string, string>;
    readonly next?: string;
    readonly path?: string;
  } = {},
) {
  return who.send(path, { method: "POST", body: new URLSearchParams({ name, password, next }), headers });
}

async function logIn(...given: Parameters<typeof sendLogin>): Promise<number> {
  return (await sendLogin(...given)).status;
}

Deno.test("no page shows anything without a login", () =>
  guarded(async (site) => {
    for (const path of PAGES) {
      const { status, headers } = await site.visitor().visit(path);
      if (/^\/(api|metrics|events)/.test(path)) assertEquals(status, 401, path);
      else assertStringIncludes(headers.get("location") ?? "", "/login?next=", path);
    }
  }));

Deno.test("throttles an address after five wrong guesses, and no other address", () =>
  guarded(async (site, clock) => {
    const guesser = site.visitor("10.0.0.9");
    for (let i = 0; i < 5; i++) assertEquals(await logIn(guesser, "ann", `guess ${i}`), 401);
    const held = await sendLogin(guesser, "ann", "correct horse");
    assertEquals([held.status, held.headers.get("retry-after")], [429, "1"]);
    assertEquals(await logIn(guesser, "bob", "x"), 429);
    assertEquals((await guesser.send("/", { headers: { authorization: "Bearer no" } })).status, 429);
    const refusal = async (authorization: string) => {
      const { status, text } = await guesser.send("/api/v1/stats", { headers: { authorization } });
      const { code, message } = JSON.parse(text).error;
      return [status, code, message];
    };
    const wait = "after too many failed logins, wait 1 s before the next one";
    assertEquals(await refusal(`Basic ${btoa("ann:x")}`), [429, "rate_limited", `Not logged in: ${wait}`]);
    const [status, code, message] = await refusal("Bearer no");
    // A valid token would be accepted: this one stays wrong however long its client waits.
    assertEquals([status, code], [429, "unauthenticated"]);
    assert(message.startsWith("Unknown token: ") && message.endsWith(`; ${wait}`), message);
    assertEquals(await logIn(site.visitor("10.0.0.10"), "ann", "correct horse"), 303);
    await clock.advance(1_000);
    assertEquals(await logIn(guesser, "ann", "correct horse"), 303);
  }));

Deno.test("throttles a name after twenty wrong guesses from any address, for at most 30 s", () =>
  guarded(async (site, clock) => {
    for (let i = 0; i < 20; i++) assertEquals(await logIn(site.visitor(`10.1.0.${i}`), "ann", "x"), 401);
    assertEquals(await logIn(site.visitor("10.1.1.1"), "ann", "x"), 429);
    await clock.advance(30_000);
    assertEquals(await logIn(site.visitor("10.0.0.10"), "ann", "correct horse"), 303);
  }));

Deno.test("accepts a program's valid token whatever other clients of its address tried", () => {
  const { token, secret } = newToken();
  return guarded(async (site) => {
    const ask = async (peer: string, bearer: string) =>
      (await site.visitor(peer).api("GET", "/stats", undefined, { authorization: `Bearer ${bearer}` })).status;
    for (let i = 0; i < 30; i++) await ask(`10.1.0.${i}`, "wrong");
    for (let i = 0; i < 6; i++) await logIn(site.visitor("10.0.0.9"), "ann", "x");
    assertEquals(await ask("10.0.0.9", "wrong"), 429);
    assertEquals(await ask("10.0.0.9", token), 200);
    assertEquals(await logIn(site.visitor("10.0.0.9"), "ann", "correct horse"), 429, "clears no guess");
  }, { users: [ANN, `ci:reader:${secret}`] });
});

Deno.test("checks at most eight passwords at a time", () =>
  guarded(async (site) => {
    const all = await Promise.all(
      Array.from({ length: 40 }, (_, i) => logIn(site.visitor(`10.1.0.${i}`), "ann", "x")),
    );
    assertEquals([...new Set(all)].sort(), [401, 429]);
    assertEquals(all.filter((status) => status === 401).length, 8);
  }));

Deno.test("a reader's token reads and can't act; a password acts, but not from another site", () => {
  const { token, secret } = newToken();
  return guarded(async (site) => {
    const program = site.visitor();
    const post = async (headers: Record<string, string>) =>
      (await program.api("POST", "/jobs", { class: "A" }, headers)).status;
    const bearer = { authorization: `Bearer ${token}` };
    assertEquals((await program.api("GET", "/stats", undefined, bearer)).status, 200);
    const basic = { authorization: `Basic ${btoa("ann:correct horse")}` };
    const statuses = [await post(bearer), await post(basic), await post({ ...basic, origin: "https://evil.example" })];
    assertEquals(statuses, [403, 201, 403]);
  }, { users: [ANN, `ci:reader:${secret}`] });
});

Deno.test("each login starts another session; forged, changed and ended cookies are refused", () =>
  guarded(async (site) => {
    const victim = site.visitor();
    await logIn(victim, "ann", "correct horse");
    const [cookieName] = [...victim.cookies.keys()] as [string];
    const isIn = async (cookie: string) => {
      const who = site.visitor("10.0.0.9");
      who.cookies.set(cookieName, cookie);
      return (await who.visit("/")).status === 200;
    };
    const planted = "AAAAAAAAAAAAAAAA~9999999999999~ann~AAAA";
    victim.cookies.set(cookieName, planted);
    await logIn(victim, "ann", "correct horse");
    const first = victim.cookies.get(cookieName)!;
    await logIn(victim, "ann", "correct horse");
    const second = victim.cookies.get(cookieName)!;
    assertEquals(new Set([planted, first, second].map((cookie) => cookie.split("~")[0])).size, 3);
    assertEquals([await isIn(first), await isIn(second)], [true, true]);
    const [id, until, name, signature] = second.split("~") as [string, string, string, string];
    const forged = [
      ...[planted, "", "~~~", "a".repeat(5_000), second.replace(/.$/, "~"), second.replace(/^./, "!")],
      ...[
        [id, String(Number(until) + 1), name, signature],
        [id, until, "root", signature],
        [id, until, name, signature.toLowerCase()],
        [id, until, name, ""],
        [id, until, name],
        [first.split("~")[0], until, name, signature],
      ].map((parts) => parts.join("~")),
    ];
    for (const cookie of forged) assertEquals(await isIn(cookie), false, cookie);
    await victim.submit("/logout", {});
    assertEquals([await isIn(second), await isIn(first)], [false, true], "ends this session alone");
  }));

Deno.test("a session ends after 12 hours; the API requires the session's token with a cookie", () =>
  guarded(async (site, clock) => {
    const ann = site.visitor();
    await logIn(ann, "ann", "correct horse");
    const token = /name="token" value="([^"]+)"/.exec((await ann.visit("/")).text)![1]!;
    assertEquals((await ann.api("POST", "/jobs", { class: "A" })).status, 403);
    assertEquals((await ann.api("POST", "/jobs", { class: "A" }, { "x-jobs-token": token })).status, 201);
    clock.set(clock.now() + 12 * 3_600_000 + 1);
    assertEquals((await ann.visit("/")).status, 303);
  }));

Deno.test("one session's token is refused in another session's form", () =>
  guarded(async (site) => {
    const tokenOf = async (who: Visitor) => {
      await logIn(who, "ann", "correct horse");
      return /name="token" value="([^"]+)"/.exec((await who.visit("/")).text)![1]!;
    };
    const [one, other] = [site.visitor(), site.visitor()];
    const [mine, theirs] = [await tokenOf(one), await tokenOf(other)];
    const pause = async (token: string) =>
      (await one.send("/queues/default/pause", { method: "POST", body: new URLSearchParams({ token }) })).status;
    assertEquals([await pause(theirs), await pause(mine)], [403, 303]);
  }));

Deno.test("cookies are hidden from scripts, not sent by other sites, and kept on HTTPS", () =>
  guarded(async (site) => {
    const cookie = async (headers: Record<string, string>) =>
      (await sendLogin(site.visitor(), "ann", "correct horse", { headers, path: "/ops/login" })).headers
        .get("set-cookie")!;
    const plain = await cookie({});
    for (const attribute of ["HttpOnly", "SameSite=Strict", "Path=/ops"]) assertStringIncludes(plain, attribute);
    assert(!/Domain=/i.test(plain));
    assertMatch(await cookie({ "x-forwarded-proto": "https" }), /; Secure/);
  }, { prefix: "/ops" }));

Deno.test("a login redirects to the requested page, and never to another site", () =>
  guarded(async (site) => {
    for (
      const [next, expected] of [
        ["/dead?q=a%20b", "/dead?q=a%20b"],
        ["//evil.example", "/"],
        ["/\t/evil.example", "/"],
        ["https://evil.example", "/"],
        ["javascript:alert(1)", "/"],
      ] as const
    ) {
      const { headers } = await sendLogin(site.visitor(), "ann", "correct horse", { next });
      assertEquals(headers.get("location"), expected, next);
      const page = await site.visitor().visit(`/login?next=${encodeURIComponent(next)}`);
      assertStringIncludes(page.text, `name="next" value="${expected}"`, next);
    }
  }));

Deno.test("another site can't log a visitor in or out, nor read pages, counts or events", () =>
  guarded(async (site) => {
    const ann = site.visitor();
    for (const headers of [{ origin: "https://evil.example" }, { "sec-fetch-site": "cross-site" }]) {
      assertEquals(await logIn(ann, "ann", "correct horse", { headers: { ...headers } }), 403);
    }
    assertEquals(await logIn(ann, "ann", "correct horse"), 303);
    const token = /name="token" value="([^"]+)"/.exec((await ann.visit("/")).text)![1]!;
    const out = await ann.send("/logout", {
      method: "POST",
      body: new URLSearchParams({ token }),
      headers: { origin: "https://evil.example" },
    });
    assertEquals(out.status, 403);
    for (const path of ["/", "/events", "/metrics", "/api/v1/stats", "/search?q=a"]) {
      for (const mode of ["no-cors", "cors"]) {
        const headers = { "sec-fetch-site": "cross-site", "sec-fetch-mode": mode };
        const { status, headers: answer } = await ann.send(path, { headers });
        assertEquals(status, 403, path);
        assertEquals(answer.get("access-control-allow-origin"), null);
      }
    }
    const led = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" };
    assertEquals((await ann.send("/dead", { headers: led })).status, 200);
  }));
