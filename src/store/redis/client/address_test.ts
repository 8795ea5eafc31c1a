import { assertEquals, assertThrows } from "@std/assert";
import { StoreError } from "../../port/errors.ts";
import { parseAddress } from "./address.ts";

Deno.test("parseAddress reads host, port and database, and applies their defaults", () => {
  const local = { server: { host: "localhost", port: 6379 }, login: {}, database: 0 };
  assertEquals(parseAddress("redis://"), { ...local, shown: "redis://" });
  assertEquals(parseAddress("redis://localhost"), { ...local, shown: "redis://localhost" });
  const other = parseAddress("redis://h.example:7000/3");
  assertEquals([other.server, other.database], [{ host: "h.example", port: 7000 }, 3]);
  assertEquals(parseAddress("redis://[::1]:7000?db=2").server, { host: "::1", port: 7000 });
  assertEquals(parseAddress("redis://h?db=2").database, 2);
});

Deno.test("parseAddress unescapes user and password, and doesn't show the password", () => {
  const address = parseAddress("redis://bob:p%40s%3As@h/1");
  assertEquals(address.login, { username: "bob", password: "p@s:s" });
  assertEquals(address.shown, "redis://bob@h/1");
  const nameless = parseAddress("redis://:secret@h");
  assertEquals([nameless.login, nameless.shown], [{ password: "secret" }, "redis://h"]);
});

Deno.test("parseAddress reads TLS and the authority's certificate", () => {
  assertEquals(parseAddress("rediss://h").tls, {});
  assertEquals(parseAddress("rediss://h/0?ca=/etc/ca.pem").tls, { ca: "/etc/ca.pem" });
  assertEquals(parseAddress("redis://h").tls, undefined);
});

Deno.test("parseAddress reads a Unix socket", () => {
  const plain = parseAddress("redis+unix:/run/redis.sock?db=1");
  assertEquals([plain.server, plain.database], [{ path: "/run/redis.sock" }, 1]);
  const guarded = parseAddress("redis+unix://bob:pw@/run/redis.sock");
  assertEquals(guarded.server, { path: "/run/redis.sock" });
  assertEquals(guarded.login, { username: "bob", password: "pw" });
  assertEquals(guarded.shown, "redis+unix://bob@/run/redis.sock");
  assertEquals(parseAddress("redis+unix:/run/a@b.sock").server, { path: "/run/a@b.sock" });
});

Deno.test("parseAddress reads Sentinels and their master", () => {
  const address = parseAddress("redis+sentinel://:pw@a,b:26380/mymaster/2?sentinel_password=sp");
  assertEquals(address.server, {
    master: "mymaster",
    nodes: [{ host: "a", port: 26379 }, { host: "b", port: 26380 }],
    login: { password: "sp" },
  });
  assertEquals([address.login, address.database], [{ password: "pw" }, 2]);
  assertEquals(address.shown, "redis+sentinel://a,b:26380/mymaster/2");
});

Deno.test("parseAddress names the invalid part of an address, never the password", () => {
  const bad: [string, string][] = [
    ["redis://h/x", 'invalid database "x"'],
    ["redis://h:99999", 'invalid host "h:99999"'],
    ["redis://:pw@h:port/1", '"redis://h:***/1": invalid host "h:***", expected HOST or HOST:PORT'],
    ["redis://bob:pw", '"redis://bob:***": invalid host "bob:***"'],
    ["redis://h?password=pw", '"redis://h?password=***": unknown parameter "password"'],
    ["redis://bob@h", "missing password"],
    ["redis+unix:", "the socket's absolute path"],
    ["redis+sentinel://a,b", "missing master name"],
    ["redis://h?database=1", 'unknown parameter "database"'],
    ["redis://:pw/pw@h/1", '"redis://***@h/1": in the user and password, write %2F'],
    ["redis://bob:pw?pw@h", '"redis://***@h": in the user and password, write %2F'],
    ["redis://bob:pw@pw@h", '"redis://***@h": in the user and password, write %2F'],
    ["redis://bob:pw%@h", '"redis://bob@h": invalid "%"'],
    ["redis+unix:/run/%zz", 'invalid "%"'],
  ];
  for (const [url, message] of bad) {
    const error = assertThrows(() => parseAddress(url), StoreError, message);
    assertEquals(error.code, "wrong");
    assertEquals(error.message.includes("pw"), false);
  }
});
