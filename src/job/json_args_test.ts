import { assertEquals, assertThrows } from "@std/assert";
import { type JsonArgs, jsonArgs } from "./json_args.ts";

Deno.test("jsonArgs keeps the form of numbers, and normalizes the rest", () => {
  const cases = [
    ["[2.0]", "[2.0]"],
    ["[ 1e3 , -0, 1.50 ]", "[1e3,-0,1.50]"],
    ['[2.0, "a  b", {"k" : [null, true]}]', '[2.0,"a  b",{"k":[null,true]}]'],
    [String.raw`[2.0, "\u00e9\/"]`, '[2.0,"é/"]'],
    ['[2.0, "1.0 [,]"]', '[2.0,"1.0 [,]"]'],
  ];
  for (const [text, kept] of cases) assertEquals((jsonArgs(text!) as unknown as JsonArgs).text, kept, text);
});

Deno.test("jsonArgs returns values if no number loses its form", () => {
  const cases: [string, unknown[]][] = [
    ["[1, 2.5, -3, 0]", [1, 2.5, -3, 0]],
    ['["2.0", "1e3"]', ["2.0", "1e3"]],
    ["[9007199254740993]", [9007199254740993n]],
    ["[10.25, 100]", [10.25, 100]],
  ];
  for (const [text, args] of cases) assertEquals(jsonArgs(text), args);
});

Deno.test("jsonArgs rejects text that isn't an array", () => {
  for (const text of ["{}", "5", "[1", ""]) assertThrows(() => jsonArgs(text), SyntaxError);
});
