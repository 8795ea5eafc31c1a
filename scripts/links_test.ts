/** Links between the pages: each leads to a file, and to one of its headings. */
import { assertEquals } from "@std/assert";
import { dirname, join, normalize } from "node:path";
import { documentationPages } from "../tests/support/pages.ts";
import { slug } from "./site/slug.mjs";

const ROOT = new URL("../", import.meta.url).pathname;

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
  for (const page of ["CHANGELOG.md", ...await documentationPages()]) {
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

Deno.test("every page is in the sidebar of the site", async () => {
  const config = await Deno.readTextFile(join(ROOT, "scripts/site/config.mjs"));
  const missing = (await documentationPages()).filter((page) => {
    if (page === "README.md") return false;
    const [folder, name] = page.replace(/^docs\//, "").replace(/\.md$/, "").split("/");
    if (name === undefined) return !config.includes(`link: "/${folder}"`);
    const lists = config.split(`items("${folder}/", {`).slice(1).map((list) => list.split("}", 1)[0]!);
    return !lists.some((list) => new RegExp(`\\b"?${name}"?:`).test(list));
  });
  assertEquals(missing, []);
});

Deno.test("docs/architecture.md has at most 150 lines", async () => {
  const lines = (await Deno.readTextFile(join(ROOT, "docs/architecture.md"))).trimEnd().split("\n").length;
  assertEquals(lines <= 150, true, `${lines} lines`);
});
