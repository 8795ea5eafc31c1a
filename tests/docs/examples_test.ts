/**
 * Runs the examples of README, the pages and the doc comments, as `deno test --doc` does, but in one program: the library takes longer to
 * load than most of them take to run.
 */
import { assert } from "@std/assert";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { blocksOf } from "../support/page_runner.ts";
import { documentationPages } from "../support/pages.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
/** Below the root, so that they import the library by its name. */
const MODULES = join(ROOT, "dist/test/examples");
const ENDINGS: Readonly<Record<string, string>> = { js: "js", javascript: "js", ts: "ts", typescript: "ts" };

/** Returns the text of the doc comments of a module, each line where it was. */
function docComments(code: string): string {
  let isComment = false;
  return code.split("\n").map((line) => {
    if (/^\s*\/\*\*/.test(line)) isComment = true;
    const text = isComment ? line.replace(/^\s*\* ?/, "") : "";
    if (line.includes("*/")) isComment = false;
    return text;
  }).join("\n");
}

async function* modulesIn(folder: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(join(ROOT, folder))) {
    const path = join(folder, name);
    if (isDirectory) yield* modulesIn(path);
    else if (/(?<!_test)\.tsx?$/.test(name)) yield path;
  }
}

await Deno.mkdir(MODULES, { recursive: true });
let count = 0;
for (const path of [...await documentationPages(), ...(await Array.fromAsync(modulesIn("src"))).sort()]) {
  const text = await Deno.readTextFile(join(ROOT, path));
  for (
    const { language, isIgnored, text: example, line } of blocksOf(path.endsWith(".md") ? text : docComments(text))
  ) {
    const ending = ENDINGS[language];
    if (ending === undefined || isIgnored) continue;
    const name = `${path}:${line}`;
    const module = join(MODULES, `${name.replaceAll(/[^\w.-]/g, "_")}.${ending}`);
    count++;
    Deno.test(`the example at ${name} runs`, async () => {
      // Deno keeps what it has made of an unchanged module.
      if (await Deno.readTextFile(module).catch(() => "") !== example) await Deno.writeTextFile(module, example);
      await import(pathToFileURL(module).href);
    });
  }
}

Deno.test("the examples are found", () => assert(count > 60, `${count} examples`));
