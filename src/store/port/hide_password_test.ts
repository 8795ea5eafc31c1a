import { assertEquals } from "@std/assert";
import { hidePassword } from "./hide_password.ts";

Deno.test("hidePassword hides passwords, also unescaped ones", () => {
  const shown: [string, string][] = [
    ["sqlite:/var/lib/jobs.db", "sqlite:/var/lib/jobs.db"],
    ["redis://h:6379/1", "redis://h:6379/1"],
    ["redis://bob:pw@h/1", "redis://bob:***@h/1"],
    ["redis://:p/w@h", "redis://:***@h"],
    ["redis://:p?w@h", "redis://:***@h"],
    ["redis://:p@w@h", "redis://:***@h"],
    ["redis:bob:pw@h", "redis:bob:***@h"],
    ["redis:/bob:pw@h", "redis:/bob:***@h"],
    ["redis:pw@h", "redis:***@h"],
    ["redis://bob@h", "redis://bob@h"],
    ["redis://bob%3Apw@h", "redis://***@h"],
    ["redis://bob:pw", "redis://bob:***"],
    ["redis://bob:pw%40h:6379/1", "redis://bob:***/1"],
    ["redis://[::1]:6379/1", "redis://[::1]:6379/1"],
    ["redis+sentinel://a:1,b:pw/m", "redis+sentinel://a:1,b:***/m"],
    ["redis+unix:/run/redis.sock?db=1", "redis+unix:/run/redis.sock?db=1"],
    ["redis+unix://bob:pw@/run/redis.sock", "redis+unix://bob:***@/run/redis.sock"],
    ["redis://h?password=pw&db=1", "redis://h?password=***&db=1"],
    ["postgres://bob:pw@h/jobs", "postgres://bob:***@h/jobs"],
    ['"redis://bob:pw@h"', '"redis://bob:***@h"'],
    [" redis://bob:pw@h", " redis://bob:***@h"],
    ["REDIS://bob:p\nw@h", "REDIS://bob:***@h"],
    ["//bob:pw@h", "//bob:***@h"],
    ["bob:pw@h", "bob:***@h"],
    ["pw@h", "***@h"],
    ["sqlite://bob:pw@h/jobs.db", "sqlite://bob:***@h/jobs.db"],
    ["sqlite:/mail:box/ann@home.db", "sqlite:/mail:box/ann@home.db"],
    ["sqlite:///mail:box/ann@home.db", "sqlite:///mail:box/ann@home.db"],
    ["redis+sentinel://:pw@a,b/m?sentinel_password=pw&db=1", "redis+sentinel://:***@a,b/m?sentinel_password=***&db=1"],
  ];
  for (const [url, expected] of shown) assertEquals(hidePassword(url), expected);
});
