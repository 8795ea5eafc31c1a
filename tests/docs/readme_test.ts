/** The README's commands, run as they are written. */
import { assert, assertEquals } from "@std/assert";
import { runPage } from "../support/page_runner.ts";

const README = new URL("../../README.md", import.meta.url).pathname;

Deno.test("the README's commands print what it shows", async () => {
  assert(await runPage(README) >= 5);
});

Deno.test("the README has at most 120 lines", async () => {
  const lines = (await Deno.readTextFile(README)).trimEnd().split("\n").length;
  assertEquals(lines <= 120, true, `${lines} lines`);
});
