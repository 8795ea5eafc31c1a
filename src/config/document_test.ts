import { assertEquals, assertRejects } from "@std/assert";
import { parseDocument } from "./document.ts";

Deno.test("YAML has the types of JSON: other numbers, dates and yes are text", async () => {
  const plain: [string, unknown][] = [
    ...["", "~", "null"].map((text): [string, unknown] => [text, null]),
    ["true", true],
    ["False", false],
    ["5", 5],
    ["-1.5e3", -1500],
    ["0", 0],
    ["9007199254740993", 9007199254740993n],
    ["!!str 5", "5"],
    ['"5"', "5"],
    ...[
      "0300",
      "0o17",
      "0x10",
      "0b11",
      "1_000",
      "+5",
      ".5",
      "1:30",
      ".inf",
      "-.inf",
      ".nan",
      "1e999",
      "yes",
      "no",
      "on",
      "y",
      "2026-01-01",
      "2026-01-01T06:00:00Z",
      "2026-01-01 06:00:00",
      "<<",
      "=",
      "Europe/London",
    ].map((text): [string, unknown] => [text, text]),
  ];
  for (const [text, value] of plain) assertEquals(await parseDocument("jobs.yml", `a: ${text}\n`), { a: value }, text);
});

Deno.test("YAML expands anchors and merges, within bounds", async () => {
  const yaml = "base: &base { queue: low, retry: 5 }\njob:\n  <<: *base\n  retry: 3\nlist: [*base]";
  assertEquals(await parseDocument("jobs.yaml", yaml), {
    base: { queue: "low", retry: 5 },
    job: { queue: "low", retry: 3 },
    list: [{ queue: "low", retry: 5 }],
  });
  const bomb = ["a0: &a0 [1,1,1,1,1,1,1,1,1,1]"];
  for (let i = 1; i < 10; i++) bomb.push(`a${i}: &a${i} [${Array(10).fill(`*a${i - 1}`).join()}]`);
  await assertRejects(() => parseDocument("jobs.yml", bomb.join("\n")), SyntaxError, "anchors multiply each other");
  await assertRejects(() => parseDocument("jobs.yml", "a: &a [*a]"), SyntaxError, "contain itself");
});

Deno.test("invalid files are rejected with their reason: equal keys, tags, documents, NUL", async () => {
  const cases: [file: string, text: string, message: string][] = [
    ["jobs.yml", "a: 1\nb: 2\na: 3", "duplicate"],
    ["jobs.yml", "a: !!timestamp 2026-01-01", "unknown tag"],
    ["jobs.yml", "a: !!binary aGk=", "unknown tag"],
    ["jobs.yml", "a: !!int 0300", "explicit tag"],
    ["jobs.yml", "a: 1\n---\nb: 2", "more than 1 document"],
    ["jobs.yml", "a: 1\n\0\nb: 2", "line 2 has a NUL character"],
    ["jobs.yml", "a: [1", ""],
    ["jobs.json", '{"a":1,\n"b":{"c":1,"c":2}}', 'the key "c" is given twice (line 2)'],
    ["jobs.json", '{"a":1,"\\u0061":2}', "given twice (line 1)"],
    ["jobs.json", "{ // no\n}", ""],
    ["jobs.jsonc", '{"a": 1, // "a": 2\n "a": 3}', 'the key "a" is given twice (line 2)'],
    ["jobs.jsonc", "{", ""],
    ["jobs.jsonc", '{"a": 0300}', ""],
  ];
  for (const [file, text, message] of cases) {
    const error = await assertRejects(() => parseDocument(file, text), SyntaxError);
    assertEquals(error.message.toLowerCase().includes(message.toLowerCase()), true, `${text}: ${error.message}`);
  }
});

Deno.test("the reason of an invalid file has its line, and no part of its text, which may be a password", async () => {
  const cases: [file: string, text: string, reason: string][] = [
    ["jobs.json", '{\n  "queues": "a",\n  "outbox": hunter2hunter2,\n  "tag": "x"\n}', 'unexpected "h" in line 3'],
    ["jobs.json", "outbox: hunter2\n", 'unexpected "o" in line 1'],
    [
      "jobs.json",
      '{"outbox": "hunter2" "tag"}',
      "Expected ',' or '}' after property value in JSON at position 21 (line 1 column 22)",
    ],
    ["jobs.jsonc", '{\n  "outbox": hunter2\n}', "unexpected text in line 2"],
    ["jobs.jsonc", '{"outbox": "hunter2\n"}', "unexpected text in line 1"],
    [
      "jobs.yml",
      'web: {users: "hunter2" "x"}',
      "Cannot read flow collection: missing comma between flow collection entries at line 1, column 24",
    ],
    ["jobs.yml", "outbox: *hunter2", "Cannot read alias: unidentified alias at line 1, column 17"],
    ["jobs.yml", "outbox: !hunter2 x", "Cannot resolve unknown tag at line 1, column 19"],
  ];
  for (const [file, text, reason] of cases) {
    assertEquals((await assertRejects(() => parseDocument(file, text), SyntaxError)).message, reason);
  }
});

Deno.test("JSON keeps large integers and equal keys of separate objects; JSONC also comments and commas", async () => {
  const value = { a: [{ "x:": 1 }, { "x:": 2 }], "//": "/* a */,]", n: 9007199254740993n, "__proto__x": {} };
  const json = '{"a":[{"x:":1},{"x:":2}],"//":"/* a */,]","n":9007199254740993,"__proto__x":{}}';
  assertEquals(await parseDocument("jobs.json", json), value);
  const jsonc = json.replace("[", "[ // first, {\n").replace("2}", '2,}, /* "b": */').replaceAll(",}", ", }");
  assertEquals(await parseDocument("jobs.jsonc", jsonc), value);
});
