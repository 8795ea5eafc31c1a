import { assertEquals } from "@std/assert";
import { withPlainNumbers } from "./json_numbers.ts";

Deno.test("writes equal numbers as equal texts, and leaves strings", () => {
  const cases = [
    ["[1,12,-3,0]", "[1,12,-3,0]"],
    ["[1.50,1.5,15e-1,0.15E1]", "[1.5,1.5,1.5,1.5]"],
    ["[1.0,10e-1,1e0,-0,-0.0,0e5]", "[1,1,1,0,0,0]"],
    ["[1e3,1.5E+3,-2e2]", "[1000,1500,-200]"],
    ["[1e-3,-0.0010,12.340]", "[0.001,-0.001,12.34]"],
    [
      "[18446744073709551615.0,0.1000000000000000055511151231257827]",
      "[18446744073709551615,0.1000000000000000055511151231257827]",
    ],
    ['["1.50",{"1.0":"a\\"2.0","b":2.0},true,null]', '["1.50",{"1.0":"a\\"2.0","b":2},true,null]'],
    ["[1e99999999]", "[1e99999999]"],
  ] as const;
  for (const [given, expected] of cases) assertEquals(withPlainNumbers(given), expected);
});
