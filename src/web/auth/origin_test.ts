import { assertEquals, assertMatch } from "@std/assert";
import { originHint, requestOrigin } from "./origin.ts";

Deno.test("an action comes from this dashboard's page if Origin and Host name the same host and port", () => {
  const rows: readonly [origin: string, host: string, expected: "same" | "cross"][] = [
    ["https://example.com", "example.com", "same"],
    ["https://example.com", "example.com:443", "same"],
    ["https://example.com:443", "example.com", "same"],
    ["https://Example.com", "EXAMPLE.com:443", "same"],
    ["http://example.com", "example.com:80", "same"],
    ["http://[::1]:7433", "[::1]:7433", "same"],
    ["https://example.com", "example.com:80", "cross"],
    ["http://example.com", "example.com:443", "cross"],
    ["https://example.com:8443", "example.com", "cross"],
    ["https://evil.example", "example.com", "cross"],
    ["https://example.com", "example.com@evil.example", "cross"],
    ["https://example.com", "example.com/x", "cross"],
    ["null", "example.com", "cross"],
    ["file://", "example.com", "cross"],
    ["file:///x", "", "cross"],
  ];
  for (const [origin, host, expected] of rows) {
    assertEquals(requestOrigin(new Headers({ origin, host })), expected, `${origin} ${host}`);
  }
});

Deno.test("a refused action states what to do about its origin", () => {
  const hint = (origin: string, host: string) => originHint(new Headers({ origin, host }));
  assertMatch(hint("null", "example.com") ?? "", /Origin: null.*sandboxed frame.*Referrer-Policy: same-origin/);
  assertMatch(hint("https://example.com:8443", "example.com") ?? "", /with its port 8443/);
  assertEquals(hint("https://evil.example", "example.com"), undefined);
});
