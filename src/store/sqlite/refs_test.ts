import { assertEquals } from "@std/assert";
import { makeRef, parseRef } from "./refs.ts";

Deno.test("A name says what it was made of", () => {
  for (const jid of ["00ff", "with.dots and\nlines", null]) {
    assertEquals(parseRef(makeRef({ place: "dead", id: 42, jid })), { place: "dead", id: 42, jid });
  }
});

Deno.test("What is no name is none", () => {
  for (const text of ["", "dead", "dead.1", "dead.x.y", "DEAD.1.a", ".1.a", `queue.${"9".repeat(20)}.a`]) {
    assertEquals(parseRef(text), undefined, text);
  }
});
