/** The table of the store's port in `docs/architecture.md`. */
import { assertEquals } from "@std/assert";
import { verbsInCode } from "../support/port_verbs.ts";

const ROOT = new URL("../../", import.meta.url);

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
  const inCode = Map.groupBy(await verbsInCode(), ({ part }) => part);
  const sorted = [...inCode].map(([part, verbs]) => [part, verbs.map(({ verb }) => verb).sort()]);
  assertEquals(listed, Object.fromEntries(sorted));
});
