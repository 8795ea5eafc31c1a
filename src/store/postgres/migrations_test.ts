import { assertEquals } from "@std/assert";
import { digestOf, DIGESTS } from "./functions_number.ts";
import { FUNCTIONS } from "./objects.ts";

Deno.test("functions with another text have a higher number", async () => {
  assertEquals(DIGESTS.at(-1), await digestOf(FUNCTIONS), "the functions have changed: run deno task functions");
});

Deno.test("replacing the functions locks no table", () => {
  const statements = FUNCTIONS.replaceAll(/--.*/g, "").matchAll(/^(CREATE (?:OR REPLACE )?\w+|ALTER \w+|DROP \w+)/gm);
  assertEquals(new Set(Array.from(statements, ([text]) => text)), new Set(["CREATE OR REPLACE FUNCTION"]));
});
