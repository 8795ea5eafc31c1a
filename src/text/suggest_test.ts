import { assertEquals } from "@std/assert";
import { nearest } from "./suggest.ts";

const WORDS = ["push", "ps", "stats", "stop", "concurrency", "constructor"];

Deno.test("nearest finds the word that was meant", () => {
  assertEquals(nearest("pusj", WORDS), "push");
  assertEquals(nearest("concurency", WORDS), "concurrency");
  assertEquals(nearest("PUSH".toLowerCase(), WORDS), "push");
});

Deno.test("nearest prefers a word that begins like it", () => {
  assertEquals(nearest("conc", WORDS), "concurrency");
  assertEquals(nearest("sta", WORDS), "stats");
});

Deno.test("nearest guesses nothing where no word is near", () => {
  assertEquals(nearest("frobnicate", WORDS), undefined);
  assertEquals(nearest("", WORDS), undefined);
  assertEquals(nearest("x", []), undefined);
});
