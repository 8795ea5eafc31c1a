/** Links between the pages: each leads to a file, and to one of its headings. */
import { assertEquals } from "@std/assert";
import { dirname, join, normalize } from "node:path";
import { slug } from "./site/slug.mjs";

const ROOT = new URL("../", import.meta.url).pathname;

/** Paths of all pages, relative to the project's folder. */
async function pages(folder: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(join(ROOT, folder))) {
    const path = join(folder, name);
    if (isDirectory) found.push(...await pages(path));
    else if (name.endsWith(".md")) found.push(path);
  }
  return found.sort();
}

const withoutCode = (text: string) => text.replace(/^(\s*)```.*?^\s*```/gms, "").replace(/`[^`\n]*`/g, "");

/** The anchors of a page. A heading that occurs twice gets a number. */
function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading] of text.replace(/^```.*?^```/gms, "").matchAll(/^#+ (.*)$/gm)) {
    const base = slug(heading!.replaceAll("`", "").replace(/\[([^\]]*)\]\([^)]*\)/g, "$1"));
    for (let i = 0;; i++) {
      const anchor = i === 0 ? base : `${base}-${i}`;
      if (anchors.has(anchor)) continue;
      anchors.add(anchor);
      break;
    }
  }
  return anchors;
}

Deno.test("every link between the pages leads to a file and a heading", async () => {
  const dead: string[] = [];
  for (const page of ["README.md", "CHANGELOG.md", ...await pages("docs")]) {
    const text = withoutCode(await Deno.readTextFile(join(ROOT, page)));
    for (const [, target] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target!)) continue;
      const [path, anchor] = target!.split("#");
      const file = path === "" ? page : normalize(join(dirname(page), path!));
      const content = await Deno.readTextFile(join(ROOT, file!)).catch(() => undefined);
      if (content === undefined) dead.push(`${page}: ${target}`);
      else if (anchor && !anchorsOf(content).has(anchor)) dead.push(`${page}: ${target} (no such heading)`);
    }
  }
  assertEquals(dead, []);
});

Deno.test("docs/architecture.md has at most 150 lines", async () => {
  const lines = (await Deno.readTextFile(join(ROOT, "docs/architecture.md"))).trimEnd().split("\n").length;
  assertEquals(lines <= 150, true, `${lines} lines`);
});
