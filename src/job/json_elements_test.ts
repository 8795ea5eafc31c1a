import { assertEquals, assertThrows } from "@std/assert";
import { elementsOf, isArrayText } from "./json_elements.ts";

const split = (text: string, maxLength = 1_000_000) => [...elementsOf(text, maxLength)];

Deno.test("elementsOf splits an array into the texts of its elements", () => {
  const elements = ["1", `{"a":[1,{"b":"]"}]}`, `"x,\\"],\\\\"`, "[[],{}]", `""`, "null", "-1.5e3"];
  assertEquals(split(`[${elements.join(",")}]`), elements);
  assertEquals(
    split(` [ ${elements.join(" ,\n ")}\t] `).map((text) => JSON.parse(text)),
    elements.map((text) => JSON.parse(text)),
  );
  assertEquals(split("[]"), []);
  assertEquals(split(" [ ] "), []);
});

Deno.test("elementsOf agrees with JSON.parse about valid arrays", () => {
  for (
    const text of [
      "[1,]",
      "[,1]",
      "[1",
      "[",
      "[1]]",
      "[1}",
      "[1}2]",
      "[{]",
      "[1] 2",
      "[1,,2]",
      `["a]`,
      "{}",
      "",
      "1",
      "[1 2]",
      `["\\"]`,
    ]
  ) {
    const parse = () => split(text).map((element) => JSON.parse(element));
    assertThrows(() => JSON.parse(`${text} `) as unknown[] instanceof Array || fail(), SyntaxError, undefined, text);
    assertThrows(parse, SyntaxError, undefined, text);
  }
});

function fail(): never {
  throw new SyntaxError("no array");
}

Deno.test("elementsOf rejects an element that is too long without reading all of it", () => {
  assertEquals(split(`["aaa","bb"]`, 5), [`"aaa"`, `"bb"`]);
  const elements = elementsOf(`[1,"${"a".repeat(100)}`, 50);
  assertEquals(elements.next().value, "1");
  assertThrows(() => elements.next(), RangeError, "Longer than 50 characters");
});

Deno.test("isArrayText reads only the first character", () => {
  assertEquals(["[]", " \n[", "{}", "", '"["'].map(isArrayText), [true, true, false, false, false]);
});
