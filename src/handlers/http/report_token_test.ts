import { Buffer } from "node:buffer";
import { assert, assertEquals } from "@std/assert";
import { readReportToken, reportToken } from "./report_token.ts";

Deno.test("the token of a report names its attempt to those who have the key, and to no one else", () => {
  const attempt = { worker: "box:7:0a1b2c3d4e5f", lease: "17.3" };
  const token = reportToken("key", attempt);
  assertEquals(readReportToken("key", token), attempt);
  assertEquals(readReportToken("other", token), undefined);
  for (const shown of [token, Buffer.from(token, "base64url").toString("latin1")]) {
    assert(!shown.includes("box") && !shown.includes("17.3"), shown);
  }
  assertEquals(/^[\w-]+$/.test(token), true);
  for (let i = 0; i < token.length; i++) {
    const changed = token.slice(0, i) + (token[i] === "A" ? "B" : "A") + token.slice(i + 1);
    assertEquals(readReportToken("key", changed), undefined, `${i}`);
  }
  for (
    const bad of ["", "a.b", "x".repeat(40), token.slice(0, 38), token.slice(1), `${token}.`, ` ${token}`, `${token}=`]
  ) {
    assertEquals(readReportToken("key", bad), undefined);
  }
});
