/** The commands and options that README and the pages name exist. */
import { assertEquals } from "@std/assert";
import { join } from "node:path";
import { COMMAND_GROUPS } from "../../src/cli/commands_table.ts";
import { COMMON_FLAGS } from "../../src/cli/terminal/args.ts";
import { VERSION } from "../../src/version.ts";
import { documentationPages } from "../support/pages.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const COMMANDS = Object.assign({}, ...Object.values(COMMAND_GROUPS)) as typeof COMMAND_GROUPS[string];
const COMMON = Object.entries(COMMON_FLAGS).flatMap(([name, flag]) => [
  `--${name}`,
  ...("short" in flag ? [`-${flag.short}`] : []),
]);

/** Returns the words after `jobs` of each command in a text: in blocks for a shell, and in code spans. */
function commandsOf(text: string): string[][] {
  const blocks = [...text.matchAll(/^```(?:sh|console|bash)\b.*\n([^]*?)^```/gm)].map((match) => match[1]!);
  const lines = blocks.join("\n").replaceAll(/\\\n/g, "").split("\n");
  const spans = [...text.replaceAll(/^```[^]*?^```/gm, "").matchAll(/`([^`\n]+)`/g)].map((match) => match[1]!);
  return [...lines, ...spans].flatMap((line) => {
    const match = line.match(/^(?:\$ )?(?:sudo -u jobs |env |\.\/|\/usr\/bin\/)?jobs ([a-z].*)$/);
    return match === null ? [] : [match[1]!.replace(/ +# .*| -- .*| \| .*/, "").split(/ +/)];
  });
}

Deno.test("README and the pages name commands and options that exist", async () => {
  const wrong: string[] = [];
  let count = 0;
  for (const path of ["CHANGELOG.md", ...await documentationPages()]) {
    for (const [name, ...words] of commandsOf(await Deno.readTextFile(join(ROOT, path)))) {
      if (name === "help") continue; // its argument may be a topic
      count++;
      const entry = Object.hasOwn(COMMANDS, name!) ? COMMANDS[name!] : undefined;
      const command = await entry?.[1]();
      const help = command?.subcommands?.[words[0] ?? ""] ?? command?.help ?? "";
      const options = words.flatMap((word) => word.match(/^--?[a-zA-Z][\w-]*/) ?? []);
      const unknown = options.filter((option) =>
        !COMMON.includes(option) && !new RegExp(`${option}(?![\\w-])`).test(help)
      );
      if (entry === undefined || unknown.length > 0) wrong.push(`${path}: jobs ${[name, ...words].join(" ")}`);
    }
  }
  assertEquals(wrong, []);
  assertEquals(count > 200, true, `${count} commands`);
});

Deno.test("containers are started from the image of this version, under the name that it is loaded with", async () => {
  const lines: string[] = [];
  for (const path of ["Dockerfile", ...await documentationPages()]) {
    const text = await Deno.readTextFile(join(ROOT, path));
    lines.push(...[...text.matchAll(/docker (?:run|build -t) [^`\n]*/g)].map((match) => match[0]));
  }
  assertEquals(lines.filter((line) => !line.includes(` jobs:${VERSION} `)), []);
  assertEquals(lines.length > 4, true, lines.join("\n"));
});
