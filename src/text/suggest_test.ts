import { assertEquals } from "@std/assert";
import { closestWord } from "./suggest.ts";

const WORDS = ["push", "ps", "stats", "stop", "concurrency", "constructor"];

Deno.test("nearest finds the word that was meant", () => {
  assertEquals(closestWord("pusj", WORDS), "push");
  assertEquals(closestWord("concurency", WORDS), "concurrency");
  assertEquals(closestWord("PUSH".toLowerCase(), WORDS), "push");
});

Deno.test("nearest prefers a word that begins like it", () => {
  assertEquals(closestWord("conc", WORDS), "concurrency");
  assertEquals(closestWord("sta", WORDS), "stats");
});

Deno.test("nearest guesses nothing where no word is near", () => {
  assertEquals(closestWord("frobnicate", WORDS), undefined);
  assertEquals(closestWord("", WORDS), undefined);
  assertEquals(closestWord("x", []), undefined);
});
