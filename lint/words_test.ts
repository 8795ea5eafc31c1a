import { assertEquals } from "@std/assert";
import { resolve } from "node:path";
import plugin from "./plugin.ts";
import { BANNED, bannedPhrases } from "./words.ts";
import { phrasesInFile } from "./words_files.ts";

/** The phrases that the rule reports for code in a covered file. */
function reported(code: string): string[] {
  const found = Deno.lint.runPlugin(plugin, resolve(import.meta.dirname!, "sample.tsx"), code);
  return found.filter(({ id }) => id === "jobs/words").map(({ message }) => message.split('"')[1]!);
}

Deno.test("reports banned phrases in comments, strings, templates and JSX", () => {
  assertEquals(reported("// replaced after so many\nexport const a = 1;"), ["so many"]);
  assertEquals(reported("/**\n * Waits for so\n * long.\n */\nexport const a = 1;"), ["so long"]);
  assertEquals(reported("// Each has its\n// own counter.\nexport const a = 1;"), ["its own"]);
  assertEquals(reported("// It waits, as it\n// stands, at the end.\nexport const a = 1;"), ["as it stands"]);
  assertEquals(reported('export const a = "Invalid; wanted: a number";'), ["wanted:"]);
  assertEquals(reported("export const a = (b: string) => `${b} runs in vain`;"), ["in vain"]);
  assertEquals(reported("export const a = <p>Nobody acts.</p>;"), ["Nobody"]);
});

Deno.test("reports noun clauses as subjects in prose, and leaves questions and strings alone", () => {
  assertEquals(reported("/** What is refused stops none of the others. */\nexport const a = 1;"), ["What"]);
  assertEquals(reported("// Ends it. Who waits is woken.\nexport const a = 1;"), ["Who"]);
  assertEquals(reported("// What happens if the reply is lost?\nexport const a = 1;"), []);
  assertEquals(reported('export const a = "What to do";'), []);
});

Deno.test("accepts plain English, and code in backticks", () => {
  for (
    const text of [
      "There is no worker.",
      "The job is no longer running.",
      "Calls `wanted: x` and `for ever`.",
      "Runs the job again after this many seconds.",
    ]
  ) assertEquals(bannedPhrases(text, "prose"), [], text);
});

Deno.test("reads the prose of pages and the comments of Lua and SQL", () => {
  assertEquals(phrasesInFile("a.md", "```sh\n# so many\n```\nIt is so often.\n").map(({ index }) => index), [26]);
  assertEquals(phrasesInFile("a.lua", 'local a = "anew"\n-- begins anew\n').map(({ phrase }) => phrase), ["anew"]);
});

Deno.test("each phrase of the table says what to write instead", () => {
  assertEquals(BANNED.filter(({ instead }) => instead === ""), []);
});
