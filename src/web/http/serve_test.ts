import { assertEquals, assertThrows } from "@std/assert";
import { parseListenAddress, urlOf } from "./serve.ts";

Deno.test("reads an address as a port, a host, or both", () => {
  assertEquals(parseListenAddress("8080"), { host: "127.0.0.1", port: 8080 });
  assertEquals(parseListenAddress("0"), { host: "127.0.0.1", port: 0 });
  assertEquals(parseListenAddress(":8080"), { host: "127.0.0.1", port: 8080 });
  assertEquals(parseListenAddress("0.0.0.0:80"), { host: "0.0.0.0", port: 80 });
  assertEquals(parseListenAddress("ops.example.com"), { host: "ops.example.com", port: 7433 });
  assertEquals(parseListenAddress("[::1]:80"), { host: "::1", port: 80 });
  for (const wrong of ["", ":", "70000", "a:b", "http://x:80", "[::1", "a b:80", "x:80/"]) {
    assertThrows(() => parseListenAddress(wrong), RangeError, "expected PORT, HOST:PORT", wrong);
  }
  assertEquals(urlOf({ host: "::1", port: 80 }, "/jobs"), "http://[::1]:80/jobs/");
});
