import { assertEquals, assertThrows } from "@std/assert";
import { InvalidPayload } from "./errors.ts";
import { groupExpected, groupOf, isGroupOption } from "./group.ts";

Deno.test("groupOf returns a name, or the value at a path into the arguments", () => {
  const args = ["acme", { customer: { id: 7, "": 1, "api-key": "k" } }, 12];
  const groups: [string | number, string][] = [
    ["acme", "acme"],
    [42, "42"],
    ["args[0]", "acme"],
    ["args[1].customer.id", "7"],
    ["args[1].customer.api-key", "k"],
    ["args[2]", "12"],
  ];
  for (const [option, group] of groups) assertEquals(groupOf(option, args), group);
});

Deno.test("groupOf rejects a path to an invalid name, with its value", () => {
  for (const option of ["args[3]", "args[0].length", "args[1]", "args[1].toString", "args[1].customer.name"]) {
    assertThrows(() => groupOf(option, ["a", { customer: {} }]), InvalidPayload, option);
  }
  assertThrows(() => groupOf("args[0]", ["x".repeat(257)]), InvalidPayload, "256 bytes");
  assertThrows(() => groupOf("args[0]", ["ä".repeat(129)]), InvalidPayload);
});

Deno.test("the option accepts a name of up to 256 bytes, a whole number, and false for no group", () => {
  for (const value of ["a", "a|b c", "ä".repeat(128), 7, false]) assertEquals(isGroupOption(value), true);
  for (const value of ["", "|a", "ä".repeat(129), "\ud800", 1.5, true, null, {}]) {
    assertEquals(isGroupOption(value), false);
  }
  assertEquals(groupExpected(1.5).includes(", a whole number, or"), true, groupExpected(1.5));
});

Deno.test("the option rejects a mistyped path, which would be one group for all jobs", () => {
  for (
    const value of [
      "args",
      "args[",
      "args[-1]",
      "args[0",
      "args[x]",
      "args.0",
      "args[0]['id']",
      "arg[0]",
      "args.",
      " args[0]",
      "args [0]",
      "arguments[0]",
    ]
  ) {
    assertEquals([value, isGroupOption(value)], [value, false]);
    assertEquals(groupExpected(value), "a path into the arguments such as args[0] or args[0].customer");
  }
  for (const value of ["arguments", "argos.example", "my args[0]", "args[0]", "args.customer"]) {
    assertEquals([value, isGroupOption(value)], [value, true]);
  }
});
