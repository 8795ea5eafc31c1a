import { assertEquals } from "@std/assert";
import { hidePassword } from "./open.ts";

Deno.test("hidePassword hides passwords, also unescaped ones", () => {
  const shown: [string, string][] = [
    ["sqlite:/var/lib/jobs.db", "sqlite:/var/lib/jobs.db"],
    ["redis://h:6379/1", "redis://h:6379/1"],
    ["redis://bob:pw@h/1", "redis://bob:***@h/1"],
    ["redis://:p/w@h", "redis://:***@h"],
    ["redis://:p?w@h", "redis://:***@h"],
    ["redis://:p@w@h", "redis://:***@h"],
    ["redis+sentinel://:pw@a,b/m?sentinel_password=pw&db=1", "redis+sentinel://:***@a,b/m?sentinel_password=***&db=1"],
  ];
  for (const [url, expected] of shown) assertEquals(hidePassword(url), expected);
});
