/** docs/operate/troubleshooting.md has every warning and error of workers, every store error and every error of commands. */
import { assertEquals } from "@std/assert";
import { join } from "node:path";

const ROOT = new URL("../../", import.meta.url).pathname;
const PAGE = await Deno.readTextFile(`${ROOT}docs/operate/troubleshooting.md`);

/** Returns the texts of all source files of a folder. */
async function* sources(folder: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(join(ROOT, folder))) {
    const path = join(folder, name);
    if (isDirectory) yield* sources(path);
    else if (/(?<!_test)\.tsx?$/.test(name)) yield await Deno.readTextFile(join(ROOT, path));
  }
}

/** Returns the first texts of calls of `warn`, `error` and `log[level]`. */
function messagesIn(text: string): string[] {
  return [...text.matchAll(/(?:\b(?:warn|error)|\blog\[[^\n]*\])\(\s*"((?:[^"\\]|\\.)*)"/g)].map((match) => match[1]!);
}

/** Returns the first cells of a table below a heading, without the code marks. */
function firstColumn(heading: string): string[] {
  const section = PAGE.split(`\n## ${heading}\n`)[1]!.split("\n## ")[0]!;
  return [...section.matchAll(/^\| `(\w+)` /gm)].map((match) => match[1]!);
}

Deno.test("each warning and error in a worker's log is a heading, and the reverse", async () => {
  const logged = new Set<string>();
  for (const folder of ["src/server", "src/log"]) {
    for await (const text of sources(folder)) for (const message of messagesIn(text)) logged.add(message);
  }
  for await (const text of sources("src/handlers")) {
    for (const message of messagesIn(text)) if (PAGE.includes(`\n### ${message}\n`)) logged.add(message);
  }
  const section = PAGE.split("\n## Log messages of workers\n")[1]!.split("\n## ")[0]!;
  const headings = [...section.matchAll(/^### (.*)$/gm)].map((match) => match[1]!);
  // The end of an outage isn't a problem: "Outcomes are stored again".
  const problems = [...logged].filter((message) => !/(?<!trying|asking) again$/.test(message));
  assertEquals(
    headings.toSorted(),
    problems.sort(),
    'docs/operate/troubleshooting.md, section "Log messages of workers": each message of log.warn and log.error is a heading',
  );
  assertEquals(headings, headings.toSorted());
});

Deno.test("each code of a StoreError is in the table", async () => {
  const text = await Deno.readTextFile(`${ROOT}src/store/port/errors.ts`);
  const codes = [...text.split("export class")[0]!.matchAll(/^ {2}\| "(\w+)"/gm)].map((match) => match[1]!);
  assertEquals(firstColumn("Store errors"), codes);
});

/** Returns what a message shows before its details: without values, reason and cure. */
function beginning(message: string): string {
  return message.replaceAll(/(\$\{[^}]*\})+/g, "…").split(/; | \(|: /, 1)[0]!;
}

Deno.test("each message of a StoreError is on the page, with its cause and cure", async () => {
  const texts = new Set<string>();
  for await (const source of sources("src/store")) {
    for (const [, quoted] of source.matchAll(/new StoreError\(\s*(?:"\w+"|code),\s*(`[^`]*`|"[^"\n]*"|'[^'\n]*')/g)) {
      texts.add(beginning(quoted!.slice(1, -1)).replace(/^Redis at "…" /, ""));
    }
  }
  // Redis's replies have texts by their first word, or by what they contain.
  const replies = await Deno.readTextFile(`${ROOT}src/store/redis/client/errors.ts`);
  for (const [, text] of replies.matchAll(/"((?:accepts|cannot|denied|has|is|rejected|requires|runs) [^"]*)"/g)) {
    texts.add(beginning(text!));
  }
  for (const [, word] of replies.matchAll(/^ {2}([A-Z]{3,}): /gm)) texts.add(word!);
  texts.delete("…"); // one of the replies' texts
  assertEquals(texts.size > 50, true, `${texts.size} messages found`);
  const missing = [...texts].filter((text) => !PAGE.includes(`\`${text}\``));
  assertEquals(
    missing,
    [],
    'docs/operate/troubleshooting.md, "SQLite errors" and "Redis errors": a row for each message',
  );
});

Deno.test("each code of a failed command is in the table, with its exit code", async () => {
  const text = await Deno.readTextFile(`${ROOT}src/cli/terminal/errors.ts`);
  const codes = [...text.matchAll(/^ {2}\w+: \["(\w+)", (\d+)\],$/gm)].map((match) => `${match[1]} ${match[2]}`);
  const rows = [...PAGE.matchAll(/^\| `(\w+)` +\| (\d+) /gm)].map((match) => `${match[1]} ${match[2]}`);
  assertEquals(rows, [...new Set(codes)]);
});

Deno.test("each heading that quotes a message occurs in the program", async () => {
  const all: string[] = [];
  for await (const text of sources("src")) all.push(text);
  for (
    const fragment of [
      "isn't registered",
      "no handler for class",
      "Cross-site request blocked",
      "Unknown host name",
      "while running it",
    ]
  ) {
    assertEquals(PAGE.includes(fragment), true, `page: ${fragment}`);
    assertEquals(all.some((text) => text.includes(fragment)), true, `program: ${fragment}`);
  }
});
