/** Guessing, taking over and leading astray: what can be tried at the login and with a session. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { newToken, passwordSecret } from "../../src/web/auth/accounts.ts";
import type { WebOptions } from "../../src/web/web.ts";
import { FakeClock } from "../support/clock.ts";
import { openSite, type Site, type Visitor } from "./site.ts";

const ANN = `ann:operator:${await passwordSecret("correct horse")}`;

/** A dashboard with a login, at a time of its own. */
async function guarded(
  test: (site: Site, clock: FakeClock) => Promise<void>,
  options: Partial<WebOptions> = {},
): Promise<void> {
  const clock = new FakeClock();
  await using site = await openSite("sqlite", { users: [ANN], clock, ...options });
  await test(site, clock);
}

/** Fills in the form; the status. */
async function logIn(
  who: Visitor,
  name: string,
  password: string,
  more: { headers?: Record<string, string>; next?: string } = {},
): Promise<number> {
  const body = new URLSearchParams({ name, password, next: more.next ?? "/" });
  return (await who.send("/login", { method: "POST", body, headers: more.headers ?? {} })).status;
}

Deno.test("Whoever guesses under many names from one address waits", () =>
  guarded(async (site) => {
    const guesser = site.visitor("10.0.0.9");
    for (let i = 0; i < 5; i++) assertEquals(await logIn(guesser, `user${i}`, "x"), 401);
    assertEquals(await logIn(guesser, "user9", "x"), 429);
    assertEquals(await logIn(site.visitor("10.0.0.10"), "ann", "correct horse"), 303);
  }));

Deno.test("Whoever guesses one name from many addresses waits; the name's owner, not for long", () =>
  guarded(async (site, clock) => {
    for (let i = 0; i < 20; i++) assertEquals(await logIn(site.visitor(`10.1.0.${i}`), "ann", "x"), 401);
    assertEquals(await logIn(site.visitor("10.1.1.1"), "ann", "x"), 429);
    await clock.advance(30_000);
    assertEquals(await logIn(site.visitor("10.0.0.10"), "ann", "correct horse"), 303);
  }));

Deno.test("Whoever has an IPv6 network has one address", () =>
  guarded(async (site) => {
    for (let i = 0; i < 5; i++) await logIn(site.visitor(`2001:db8::${i + 1}`), `user${i}`, "x");
    assertEquals(await logIn(site.visitor("2001:db8::ffff"), "user9", "x"), 429);
  }));

Deno.test("What a stranger says of its address is not believed; what a proxy says, is: the last it says", () =>
  guarded(async (site) => {
    const headers = (address: string) => ({ headers: { "x-forwarded-for": address, "forwarded": `for=${address}` } });
    const stranger = site.visitor("10.0.0.9");
    for (let i = 0; i < 5; i++) await logIn(stranger, `user${i}`, "x", headers(`10.2.0.${i}`));
    assertEquals(await logIn(stranger, "user9", "x", headers("10.2.0.99")), 429);
    const proxy = site.visitor("10.0.0.1");
    for (let i = 0; i < 5; i++) await logIn(proxy, `name${i}`, "x", headers(`10.3.0.${i}, 203.0.113.7`));
    assertEquals(await logIn(proxy, "name9", "x", headers("10.3.0.99, 203.0.113.7")), 429);
    assertEquals(await logIn(proxy, "ann", "correct horse", headers("203.0.113.8")), 303);
  }, { proxies: ["10.0.0.1"] }));

Deno.test("Wrong tokens and wrong passwords lock no program out that has a right token", () => {
  const { token, secret } = newToken();
  return guarded(async (site) => {
    const ask = async (peer: string, bearer: string) =>
      (await site.visitor(peer).api("GET", "/stats", undefined, { authorization: `Bearer ${bearer}` })).status;
    for (let i = 0; i < 30; i++) await ask(`10.1.0.${i}`, "wrong");
    for (let i = 0; i < 6; i++) await logIn(site.visitor("10.0.0.9"), "ann", "x");
    assertEquals(await ask("10.0.0.9", "wrong"), 429);
    assertEquals(await ask("10.0.0.9", token), 200);
    // It forgives nothing to whoever guesses passwords beside it.
    assertEquals(await logIn(site.visitor("10.0.0.9"), "ann", "correct horse"), 429);
  }, { users: [ANN, `ci:reader:${secret}`] });
});

Deno.test("Many who log in at once are turned away before they take the machine", () =>
  guarded(async (site) => {
    const all = await Promise.all(
      Array.from({ length: 40 }, (_, i) => logIn(site.visitor(`10.1.0.${i}`), `user${i}`, "x")),
    );
    assertEquals([...new Set(all)].sort(), [401, 429]);
    assertEquals(all.filter((status) => status === 401).length, 8);
  }));

Deno.test("A session is made new at each login, whatever cookie was there; another's does not become it", () =>
  guarded(async (site) => {
    const victim = site.visitor();
    const planted = "AAAAAAAAAAAAAAAA~9999999999999~ann~AAAA";
    victim.cookies.set("jobs_session", planted);
    assertEquals((await victim.visit("/")).status, 303);
    await logIn(victim, "ann", "correct horse");
    const first = victim.cookies.get("jobs_session")!;
    assert(first !== planted);
    await logIn(victim, "ann", "correct horse");
    const second = victim.cookies.get("jobs_session")!;
    assert(second.split("~")[0] !== first.split("~")[0]);
    const [id, until, name, signature] = second.split("~") as [string, string, string, string];
    for (
      const forged of [
        [id, String(Number(until) + 1), name, signature],
        [id, until, "root", signature],
        [id, until, name, signature.toLowerCase()],
        [id, until, name, ""],
        [id, until, name],
        [first.split("~")[0], until, name, signature],
      ]
    ) {
      const thief = site.visitor("10.0.0.9");
      thief.cookies.set("jobs_session", forged.join("~"));
      assertEquals((await thief.visit("/")).status, 303, forged.join("~"));
    }
  }));

Deno.test("One session's token is no good in another's form", () =>
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

Deno.test("Cookies are for us alone: no script reads them, no other site sends them, and only over HTTPS where there is", () =>
  guarded(async (site) => {
    const cookie = async (headers: Record<string, string>) => {
      const body = new URLSearchParams({ name: "ann", password: "correct horse" });
      return (await site.visitor().send("/ops/login", { method: "POST", body, headers })).headers.get("set-cookie")!;
    };
    const plain = await cookie({});
    for (const attribute of ["HttpOnly", "SameSite=Strict", "Path=/ops"]) assertStringIncludes(plain, attribute);
    assert(!/Domain=/i.test(plain));
    assertMatch(await cookie({ "x-forwarded-proto": "https" }), /; Secure/);
  }, { prefix: "/ops" }));

Deno.test("After the login one is where one was, and never on another site", () =>
  guarded(async (site) => {
    const leadsTo = async (next: string) => {
      const body = new URLSearchParams({ name: "ann", password: "correct horse", next });
      const { headers } = await site.visitor().send("/login", { method: "POST", body });
      return headers.get("location")!;
    };
    assertEquals(await leadsTo("/dead?q=a%20b"), "/dead?q=a%20b");
    for (
      const next of [
        "//evil.example",
        "///evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "https://evil.example",
        "https:evil.example",
        "javascript:alert(1)",
        "data:text/html,x",
        "/\t/evil.example",
        "/\r\nLocation: https://evil.example",
        "evil.example",
        "@evil.example",
        " /dead",
        "/évil",
        "",
      ]
    ) {
      assertEquals(await leadsTo(next), "/", next);
      const page = await site.visitor().visit(`/login?next=${encodeURIComponent(next)}`);
      assertStringIncludes(page.text, 'name="next" value="/"', next);
    }
    for (const next of ["/.//evil.example", "/..//evil.example", "/%2f/evil.example"]) {
      assertEquals(new URL(await leadsTo(next), "http://localhost:7433/login").host, "localhost:7433", next);
    }
  }));

Deno.test("Another site logs nobody in or out, and reads no page, no number and no event", () =>
  guarded(async (site) => {
    const ann = site.visitor();
    assertEquals(await logIn(ann, "ann", "correct horse", { headers: { origin: "https://evil.example" } }), 403);
    assertEquals(await logIn(ann, "ann", "correct horse", { headers: { "sec-fetch-site": "cross-site" } }), 403);
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
