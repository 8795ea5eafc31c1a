import { assertEquals } from "@std/assert";
import type { Context } from "hono";
import type { WebEnv } from "../services.ts";
import { localPath, pageOf } from "./paging.ts";

Deno.test("a limit is from 1 to 1,000; without a number it is the default", () => {
  const limitOf = (query: string) =>
    pageOf({ req: { url: `http://localhost/dead${query}` } } as unknown as Context<WebEnv>).limit;
  for (const [limit, expected] of [["1", 1], ["1000", 1_000], ["1001", 1_000], ["-5", 1], ["0.5", 1], ["2.9", 2]]) {
    assertEquals(limitOf(`?limit=${limit}`), expected, `${limit}`);
  }
  for (const query of ["", "?limit=", "?limit=0", "?limit=many"]) assertEquals(limitOf(query), 50, query);
});

Deno.test("keeps a path of the dashboard, and replaces all others by the overview's", () => {
  for (const path of ["/", "/dead?q=a%20b", "/queues/a:b"]) assertEquals(localPath(path), path);
  // They begin with a slash, and a browser reads them as paths of the same host.
  for (const path of ["/.//evil.example", "/..//evil.example", "/%2f/evil.example"]) {
    assertEquals(new URL(localPath(path), "http://localhost:7433/login").host, "localhost:7433", path);
  }
  for (
    const path of [
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
      "/\n",
      "evil.example",
      "@evil.example",
      " /dead",
      "/évil",
      "",
      undefined,
    ]
  ) assertEquals(localPath(path), "/", path);
});
