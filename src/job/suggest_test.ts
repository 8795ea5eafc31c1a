import { assertEquals } from "@std/assert";
import { closestWord, expectedName } from "./suggest.ts";

const WORDS = ["push", "ps", "stats", "stop", "concurrency", "constructor"];

Deno.test("suggests the nearest word", () => {
  assertEquals(closestWord("pusj", WORDS), "push");
  assertEquals(closestWord("concurency", WORDS), "concurrency");
  assertEquals(closestWord("PUSH".toLowerCase(), WORDS), "push");
});

Deno.test("suggests a short word of which two neighboring characters changed places", () => {
  assertEquals(closestWord("shwo", ["push", "show"]), "show");
  assertEquals(closestWord("puhs", WORDS), "push");
  assertEquals(closestWord("hsup", WORDS), undefined);
});

Deno.test("prefers a word that begins with the given one", () => {
  assertEquals(closestWord("conc", WORDS), "concurrency");
  assertEquals(closestWord("sta", WORDS), "stats");
});

Deno.test("suggests nothing if no word is near", () => {
  assertEquals(closestWord("frobnicate", WORDS), undefined);
  assertEquals(closestWord("", WORDS), undefined);
  assertEquals(closestWord("x", []), undefined);
});

Deno.test("an unknown name gets the one that is meant, else all that are known", () => {
  assertEquals(expectedName("pusj", WORDS, "none"), 'did you mean "push"?');
  assertEquals(expectedName("frobnicate", ["push", "ps"], "none"), "expected push, ps");
  assertEquals(expectedName("push", [], "no fields"), "expected no fields");
});
