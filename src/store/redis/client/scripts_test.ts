import { assertEquals, assertThrows } from "@std/assert";
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

/** Returns the names that a text declares, each as often as it does. */
function declaredIn(code: string): string[] {
  const patterns = [
    /\blocal (?!function)([\w, ]+)/g,
    /\bfunction\s*[\w.]*\s*\(([^)]*)\)/g,
    /\bfunction (\w+)/g,
    /\bfor ([\w, ]+?) (?:in|=)/g,
  ];
  return patterns.flatMap((pattern) => namesIn(code, pattern));
}

/** Returns the names that a text uses and doesn't declare. */
function usedIn(text: string): Set<string> {
  const code = codeOf(text);
  const used = new Set(namesIn(code, /(?<![.:\w])([A-Za-z_]\w*)/g));
  for (const name of declaredIn(code)) used.delete(name);
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

Deno.test("a script that names its arguments uses each, hides none, and has no index", () => {
  for (const [name, { args, text }] of sections) {
    if (args === undefined) continue;
    const code = codeOf(text);
    assertEquals([...code.matchAll(/\bARGV\b/g)].length, args.filter(({ fields }) => !fields).length, `${name}: ARGV`);
    const unused = args.filter(({ name }) => [...code.matchAll(new RegExp(`\\b${name}\\b`, "g"))].length < 2);
    assertEquals(unused.map(({ name }) => name), [], name);
    const declared = declaredIn(code);
    const own = [...args.map(({ name }) => name), ...namesIn(code, /^local (.+) = KEYS\[1\]/gm)];
    assertEquals(own.filter((name) => declared.indexOf(name) !== declared.lastIndexOf(name)), [], name);
  }
});

Deno.test("arguments are packed by their names, and a list with its length", () => {
  const write = {
    name: "e",
    version: 1,
    state: "",
    awaited: true,
    verb: "keep",
    definition: undefined,
    records: ["r"],
  };
  const job = { queue: "q", jid: "j", payload: "{" };
  const head = { now: "0", wire: 8, maxRecords: 10, keepMs: 5 };
  const packed = SCRIPTS.cronWrite.pack({ ...head, writes: [{ ...write, jobs: [job] }] });
  assertEquals(packed.join(" "), "0 8 10 5 1 e 1  1 keep  1 q j { 1 r");
  for (const writes of [[{ ...write, jobs: [{ ...job, at: 1 }] }], [{ ...write, jobs: [{ queue: "q", jid: "j" }] }]]) {
    assertThrows(() => SCRIPTS.cronWrite.pack({ ...head, writes }), TypeError, "Script cronWrite: ");
  }
});
