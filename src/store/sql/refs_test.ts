import { assertEquals } from "@std/assert";
import { makeRef, parseRef } from "./refs.ts";

Deno.test("parseRef reads what makeRef writes", () => {
  for (const jid of ["00ff", "with.dots and\nlines", null]) {
    assertEquals(parseRef(makeRef({ place: "dead", id: 42, jid })), { place: "dead", id: 42, jid });
  }
});

Deno.test("parseRef returns undefined for other texts", () => {
  for (const text of ["", "dead", "dead.1", "dead.x.y", "DEAD.1.a", ".1.a", `queue.${"9".repeat(20)}.a`]) {
    assertEquals(parseRef(text), undefined, text);
  }
});
