import { assertEquals } from "@std/assert";
import { localPath } from "./paging.ts";

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
