import { assertEquals, assertNotEquals } from "@std/assert";
import { digestOf, formatRef, parseRef, type Ref } from "./refs.ts";

Deno.test("parseRef reads what formatRef writes, with any names", () => {
  const digest = digestOf("{}");
  const refs: Ref[] = [
    { in: "queue", queue: "a~b:ä\n", digest, position: 12 },
    { in: "retry", digest, position: 0, score: 1700000000.1234567 },
    { in: "dead", digest, position: 3, score: 1700000000 },
    { in: "running", worker: "host~1:2:ab", token: "0123-10000:q~r" },
  ];
  for (const ref of refs) assertEquals(parseRef(formatRef(ref)), ref);
});

Deno.test("parseRef returns undefined for other texts", () => {
  for (const text of ["", "queue", "queue~x~1~q", "queue~ab~1", "retry~ab~1~x", "retry~ab~1~", "busy~ab~1~q"]) {
    assertEquals(parseRef(text), undefined, text);
  }
});

Deno.test("different bytes have different digests", () => {
  assertNotEquals(digestOf('{"a":1}'), digestOf('{"a":1.0}'));
});
