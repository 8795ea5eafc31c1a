/** The types of `deno-std` are written by hand. These tests check that the declared names exist and behave as expected. */
import * as assert from "@std/assert";
import { parseArgs } from "@std/cli/parse-args";
import * as colors from "@std/fmt/colors";
import { parse as parseJsonc } from "@std/jsonc";
import { TextLineStream } from "@std/streams/text-line-stream";
import { levenshteinDistance } from "@std/text/levenshtein-distance";

const { assertEquals, assertThrows } = assert;

/** Returns the names that a declaration file exports as values. */
async function declaredNames(file: string): Promise<string[]> {
  const text = await Deno.readTextFile(new URL(file, import.meta.url));
  return [...text.matchAll(/^export declare (?:function|class) (\w+)/gm)].map((match) => match[1]!);
}

Deno.test("every declared name is exported", async () => {
  const modules = {
    assert,
    colors,
    "parse_args": { parseArgs },
    "levenshtein_distance": { levenshteinDistance },
    "text_line_stream": { TextLineStream },
  };
  for (const [file, module] of Object.entries(modules)) {
    const names = await declaredNames(`./${file}.d.ts`);
    assert.assert(names.length > 0, file);
    for (const name of names) assertEquals(typeof Reflect.get(module, name), "function", `${file}: ${name}`);
  }
});

Deno.test("parseArgs keeps the text of string options", () => {
  const args = parseArgs(["push", "A", "12345678901234567890", "-q", "low", "--in=5m", "--", "--x"], {
    string: ["_", "q", "in"],
    alias: { q: "queue" },
    collect: ["q"],
  });
  assertEquals(args._, ["push", "A", "12345678901234567890", "--x"]);
  assertEquals(args["queue"], ["low"]);
  assertEquals(args["in"], "5m");
});

Deno.test("parseArgs reports unknown flags", () => {
  const unknown: string[] = [];
  parseArgs(["--jsn", "file"], {
    boolean: ["json"],
    unknown: (arg, key) => {
      if (key !== undefined) unknown.push(arg);
    },
  });
  assertEquals(unknown, ["--jsn"]);
});

Deno.test("JSONC is parsed, and invalid text is a SyntaxError", () => {
  assertEquals(parseJsonc('{ "a": 1, /* why */ }'), { a: 1 });
  assertThrows(() => parseJsonc("{"), SyntaxError);
});

Deno.test("levenshteinDistance counts letters", () => {
  assertEquals(levenshteinDistance("pus", "push"), 1);
});
