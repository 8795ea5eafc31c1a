import { assertEquals } from "@std/assert";
import { readSections, SCRIPTS } from "./scripts.ts";

/** Returns Lua without strings and comments. */
function codeOf(text: string): string {
  return text.replace(/'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/g, "''").replace(/--.*/g, "");
}

/** Returns the names that `pattern` finds, several at once if they are separated by commas. */
function namesIn(code: string, pattern: RegExp): string[] {
  return [...code.matchAll(pattern)].flatMap(([, names]) => names!.split(",").map((name) => name.trim()));
}

/** Returns the names that a part defines for the texts after it. */
function definedIn(text: string): string[] {
  return [
    ...namesIn(codeOf(text), /^local function (\w+)/gm),
    ...namesIn(codeOf(text), /^local (?!function)([\w, ]+)/gm),
  ];
}

/** Returns the names that a text uses and doesn't declare. */
function usedIn(text: string): Set<string> {
  const code = codeOf(text);
  const used = new Set(namesIn(code, /(?<![.:\w])([A-Za-z_]\w*)/g));
  const own = [
    /\blocal (?!function)([\w, ]+)/g,
    /\bfunction\s*[\w.]*\s*\(([^)]*)\)/g,
    /\bfunction (\w+)/g,
    /\bfor ([\w, ]+?) (?:in|=)/g,
  ];
  for (const pattern of own) namesIn(code, pattern).forEach((name) => used.delete(name));
  return used;
}

const sections = [...readSections()];
const partNames = sections.filter(([name]) => name.startsWith("part ")).map(([name]) => name.slice(5));

Deno.test("SCRIPTS has the scripts of the files, and each part is used", () => {
  const inFiles = sections.filter(([name]) => name.startsWith("script ")).map(([name]) => name.slice(7));
  assertEquals(Object.keys(SCRIPTS).sort(), inFiles.sort());
  assertEquals([...new Set(sections.flatMap(([, { parts }]) => parts))].sort(), partNames.sort());
});

Deno.test("a script or a part names the parts that it uses, and no others", () => {
  const owners = new Map<string, string>();
  for (const part of partNames) {
    for (const name of definedIn(readSections().get(`part ${part}`)!.text)) {
      assertEquals(owners.get(name), undefined, `${name} of ${part} is also defined by another part`);
      owners.set(name, part);
    }
  }
  for (const [name, { parts, text }] of sections) {
    const used = [...usedIn(text)].map((one) => owners.get(one)).filter((one) => one !== undefined);
    assertEquals([...parts].sort(), [...new Set(used)].sort(), name);
  }
});

Deno.test("a script begins with its flags, then the parts in an order in which each follows those that it uses", () => {
  const { text } = SCRIPTS.batchClose;
  assertEquals(text.slice(0, text.indexOf("\n")), "#!lua flags=allow-oom");
  const at = ["jobWith", "checkGroups", "memberOf", "endFlow", "closeBatch"].map((name) =>
    text.indexOf(`local function ${name}(`)
  );
  assertEquals(at, at.toSorted((a, b) => a - b));
  assertEquals(at.includes(-1), false);
});
