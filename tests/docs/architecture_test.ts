/** The table of the store's port in `docs/architecture.md`. */
import { assertEquals } from "@std/assert";

const ROOT = new URL("../../", import.meta.url);

/** Returns the verbs of each part by the interfaces in the code. */
async function verbsInCode(): Promise<Record<string, string[]>> {
  const parts: Record<string, string[]> = {};
  for (const [store, folder] of [["port/store.ts", "port"], ["admin/store.ts", "admin"]]) {
    const text = await Deno.readTextFile(new URL(`src/store/${store}`, ROOT));
    for (const [, part, type] of text.matchAll(/^ {2}readonly (\w+): (\w+);$/gm)) {
      if (type === "string") continue;
      const [, file] = new RegExp(`import type \\{[^}]*\\b${type}\\b[^}]*\\} from "\\./(.*)"`).exec(text)!;
      const code = await Deno.readTextFile(new URL(`src/store/${folder}/${file}`, ROOT));
      const [, body] = new RegExp(`export interface ${type} \\{\\n([\\s\\S]*?)\\n\\}`).exec(code)!;
      parts[part!] = [...body!.matchAll(/^ {2}(\w+)\??(?:<.*>)?\(/gm)].map(([, verb]) => verb!).sort();
    }
  }
  return parts;
}

Deno.test("the architecture page lists the verbs of the store's port", async () => {
  const page = await Deno.readTextFile(new URL("docs/architecture.md", ROOT));
  const [, table] = /## The store's port\n[\s\S]*?\n\| -[^\n]*\n([\s\S]*?)\n\n/.exec(page)!;
  const listed: Record<string, string[]> = {};
  let part = "";
  for (const row of table!.split("\n")) {
    const [, name, verbs] = row.split("|").map((cell) => cell.trim());
    part = name || part;
    listed[part] = [...listed[part] ?? [], ...[...verbs!.matchAll(/`(\w+)/g)].map(([, verb]) => verb!)].sort();
  }
  assertEquals(listed, await verbsInCode());
});
