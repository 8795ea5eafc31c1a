import { assertEquals, assertThrows } from "@std/assert";
import { parseHead, variablesOf } from "./script_head.ts";
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

Deno.test("a script names its keys and arguments, uses each, hides none, and has no index", () => {
  for (const [name, { head, text }] of sections) {
    assertEquals(head !== undefined, name.startsWith("script "), name);
    const code = codeOf(text);
    assertEquals(code.match(/\b(ARGV|KEYS)\b/), null, name);
    const own = head ? [...head.keys, ...head.args].map(({ name }) => name) : [];
    assertEquals(own.filter((one) => !new RegExp(`\\b${one}\\b`).test(code)), [], name);
    const declared = [...own, ...declaredIn(code)];
    assertEquals(own.filter((one) => declared.indexOf(one) !== declared.lastIndexOf(one)), [], name);
  }
});

Deno.test("a script has variables of its keys and arguments, and tables of its lists", () => {
  assertEquals(
    variablesOf(parseHead("one, more[]; now, limit, workers[worker, leases[token, payload]], names[]")),
    [
      "local one = KEYS[1]",
      "local more = { unpack(KEYS, 2) }",
      "local time = redis.call('TIME')",
      "local now = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]",
      "local limit = ARGV[2]",
      "local given, lastRead = ARGV, 2",
      "local workers = {}",
      "lastRead = lastRead + 1",
      "for i1 = 1, given[lastRead] do",
      "local item1 = { worker = given[lastRead + 1], leases = {} }",
      "lastRead = lastRead + 1",
      "lastRead = lastRead + 1",
      "for i2 = 1, given[lastRead] do",
      "local item2 = { token = given[lastRead + 1], payload = given[lastRead + 2] }",
      "lastRead = lastRead + 2",
      "item1.leases[i2] = item2",
      "end",
      "workers[i1] = item1",
      "end",
      "local names = {}",
      "lastRead = lastRead + 1",
      "for i1 = 1, given[lastRead] do",
      "names[i1] = given[lastRead + i1]",
      "end",
      "lastRead = lastRead + #names",
      "",
    ].join("\n"),
  );
});

Deno.test("keys and arguments are packed by their names, and a list with its length", () => {
  const write = {
    name: "e",
    version: 1,
    state: "",
    next: "inf",
    awaited: true,
    verb: "keep",
    shared: false,
    tags: "",
    definition: undefined,
    live: undefined,
    follow: [],
    events: [],
    records: ["r"],
  };
  const job = { queue: "q", jid: "j", payload: "{" };
  const head = { done: "d", now: "0", wire: 8, maxRecords: 10, allRecords: 20, keepMs: 5 };
  const [verb, sha, ...packed] = SCRIPTS.cronWrite.command({ ...head, writes: [{ ...write, jobs: [job] }] });
  assertEquals([verb, sha], ["EVALSHA", SCRIPTS.cronWrite.sha]);
  assertEquals(packed.join(" "), "1 d 0 8 10 20 5 1 e 1  inf 1 keep     1 q j { 0 0 1 r");
  for (const writes of [[{ ...write, jobs: [{ ...job, at: 1 }] }], [{ ...write, jobs: [{ queue: "q", jid: "j" }] }]]) {
    assertThrows(() => SCRIPTS.cronWrite.command({ ...head, writes }), TypeError, "Script cronWrite: ");
  }
});
