import { assertEquals, assertThrows } from "@std/assert";
import { getField, readWireTime, setFields, wireTime } from "./raw.ts";

Deno.test("setFields replaces in place, appends at the end, and leaves every other byte unchanged", () => {
  const raw =
    `{ "big" : 12345678901234567890 ,\t"one":1.0,"e":1E+2, "s":"\\u00e9\\/",\n"n":{"one":[1.0 , {"big":2}]} }`;
  assertEquals(
    setFields(raw, { one: "2", added: '"x"' }),
    `{ "big" : 12345678901234567890 ,\t"one":2,"e":1E+2, "s":"\\u00e9\\/",\n"n":{"one":[1.0 , {"big":2}]},"added":"x" }`,
  );
});

Deno.test("setFields removes fields at the front, in the middle and at the end, and all fields", () => {
  const raw = `{ "a":1 , "b":2,\n"c":3 }`;
  assertEquals(setFields(raw, { a: undefined }), `{ "b":2,\n"c":3 }`);
  assertEquals(setFields(raw, { b: undefined }), `{ "a":1,\n"c":3 }`);
  assertEquals(setFields(raw, { c: undefined }), `{ "a":1 , "b":2 }`);
  assertEquals(setFields(raw, { a: undefined, b: undefined }), `{ "c":3 }`);
  assertEquals(setFields(raw, { b: undefined, c: undefined }), `{ "a":1 }`);
  assertEquals(setFields(raw, { a: undefined, c: undefined }), `{ "b":2 }`);
  assertEquals(setFields(raw, { a: undefined, b: undefined, c: undefined, d: "4" }), `{ "d":4 }`);
  assertEquals(setFields("{}", { a: "1", b: "2" }), `{"a":1,"b":2}`);
  assertEquals(setFields(raw, { d: undefined }), raw);
});

Deno.test("setFields keeps the last of duplicate names, also if they are escaped", () => {
  assertEquals(setFields(`{"a":1,"b":0,"\\u0061":2,"a":3}`, { a: "4" }), `{"b":0,"a":4}`);
  assertEquals(setFields(`{"a":1,"b":0,"\\u0061":2}`, { a: "4" }), `{"b":0,"\\u0061":4}`);
  assertEquals(setFields(`{"a":1,"b":0,"a":2}`, { a: undefined }), `{"b":0}`);
  assertEquals(setFields(`{"a":1,"a":2}`, { b: "1" }), `{"a":1,"a":2,"b":1}`);
});

Deno.test("setFields handles names that are properties of every object", () => {
  assertEquals(
    setFields(`{"__proto__":{"x":1},"constructor":1}`, { a: "1" }),
    `{"__proto__":{"x":1},"constructor":1,"a":1}`,
  );
});

Deno.test("getField reads the last value of the top-level field only", () => {
  assertEquals(getField(`{"args":[{"class":"no"}],"c":"\\"class\\":1","class":"yes"}`, "class"), "yes");
  assertEquals(getField(`{"\\u0063lass":"yes"}`, "class"), "yes");
  assertEquals(getField(`{"class":"no","class":["yes"]}`, "class"), ["yes"]);
  assertEquals(getField(`{"a":{"class":1}}`, "class"), undefined);
  for (const raw of ["", "null", "[]", `"class"`, `{"class":1`, `{"class":1}x`, `{class:1}`]) {
    assertEquals(getField(raw, "class"), undefined);
  }
});

Deno.test("a hundred thousand nested arrays and objects overflow no stack", () => {
  const arrays = "[".repeat(100_000) + "]".repeat(100_000);
  assertEquals(setFields(`{"args":${arrays}}`, { a: "1" }), `{"args":${arrays},"a":1}`);
  const objects = `{"a":`.repeat(100_000) + "1" + "}".repeat(100_000);
  assertEquals(getField(`{"a":${objects},"b":2}`, "b"), 2);
});

Deno.test("text that is not one JSON object is rejected", () => {
  const bad = `|[]|1|"a"|null|{|{"a"|{"a":|{"a":1|{"a":1,}|{,}|{"a":01}|{"a":1.}|{"a":.5}|{"a":+1}|{"a":tru}|{"a":truer}
    |{"a":[1,]}|{"a":[1}|{"a":{"b"}}|{"a":"\\x"}|{"a":"\\u12g4"}|{"a":"\t"}|{"a":1}{}|{a:1}|{'a':1}|{"a":NaN}|{"a" 1}
    |{"a":1 "b":2}|{"a":[1 2]}|{"a":"|{"a":1}\u0000|\ufeff{}`.split("|");
  for (const raw of bad) {
    assertThrows(() => setFields(raw, { a: "1" }), SyntaxError, "Not the text of a JSON object", raw);
  }
});

Deno.test("setFields on random documents gives the value of an object assignment, and leaves other text unchanged", () => {
  const random = generator(20260101);
  for (let round = 0; round < 3000; round++) {
    const members = Array.from(
      { length: random(6) },
      () => ({ name: randomName(random), text: randomJson(random, 3) }),
    );
    const raw = `${space(random)}{${space(random)}` +
      members.map(({ name, text }) => `${spell(random, name)}${space(random)}:${space(random)}${text}${space(random)}`)
        .join(`,${space(random)}`) +
      `}${space(random)}`;
    const name = randomName(random);
    const text = random(4) === 0 ? undefined : randomJson(random, 2);

    const edited = setFields(raw, { [name]: text });

    const expected = JSON.parse(raw);
    if (text === undefined) delete expected[name];
    else {
      Object.defineProperty(expected, name, { value: JSON.parse(text), enumerable: true, configurable: true });
    }
    assertEquals(JSON.parse(edited), expected, raw);
    assertEquals(getField(edited, name), text === undefined ? undefined : JSON.parse(text), raw);
    const touched = members.findIndex((member) => member.name === name);
    const before = touched < 0 ? raw.trimEnd().slice(0, -1).trimEnd() : undefined;
    if (before !== undefined) assertEquals(edited.slice(0, before.length), before);
    for (const member of members) {
      if (member.name !== name) assertEquals(edited.includes(member.text), true, `${raw}\n${edited}`);
    }
  }
});

Deno.test("wireTime distinguishes seconds from milliseconds by the fraction, readWireTime by size", () => {
  assertEquals(wireTime(1_700_000_000_000), "1700000000.000");
  assertEquals(wireTime(1_700_000_000_123), "1700000000.123");
  assertEquals(wireTime(1_700_000_000_123.4, 8), "1700000000123");
  assertEquals(readWireTime(1700000000.123), 1_700_000_000_123);
  assertEquals(readWireTime(1700000000), 1_700_000_000_000);
  assertEquals(readWireTime(1_700_000_000_123), 1_700_000_000_123);
  for (const value of [undefined, null, "1700000000", NaN, Infinity, 1e300, -1e300, 8.64e15 + 2, {}]) {
    assertEquals(readWireTime(value), undefined);
  }
});

type Random = (below: number) => number;

function generator(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor(state / 2 ** 32 * below);
  };
}

function space(random: Random): string {
  return ["", "", "", " ", "\n\t", "  \r\n"][random(6)]!;
}

function randomName(random: Random): string {
  return ["a", "b", "jid", 'q"', "é", "__proto__", ""][random(7)]!;
}

/** Returns a name as a JSON string, with some characters escaped. */
function spell(random: Random, name: string): string {
  if (random(3) > 0) return JSON.stringify(name);
  return `"${Array.from(name, (char) => "\\u" + char.charCodeAt(0).toString(16).padStart(4, "0")).join("")}"`;
}

function randomJson(random: Random, depth: number): string {
  const list = () => Array.from({ length: random(4) }, () => space(random) + randomJson(random, depth - 1));
  switch (random(depth > 0 ? 7 : 5)) {
    case 0:
      return ["1.0", "-0", "12345678901234567890", "1e400", "2E-3", "7"][random(6)]!;
    case 1:
      return ["true", "false", "null"][random(3)]!;
    case 2:
      return [`"a\\"}]{,:"`, `"\\\\"`, `""`, `"\\ud83d\\ude00"`, `"日本"`][random(5)]!;
    case 3:
      return "[]";
    case 4:
      return "{ }";
    case 5:
      return `[${list().join(",")}]`;
    default:
      return `{${list().map((text) => `${spell(random, randomName(random))}:${text}`).join(",")}}`;
  }
}
