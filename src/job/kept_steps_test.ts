import { assertEquals } from "@std/assert";
import { keptSteps, stepsIn } from "./kept_steps.ts";
import { endedText, readEnded } from "./result.ts";

const record = (since: number, value?: string) =>
  `{"state":"succeeded","since":${since},"ended":${since},"kind":"step"${
    value === undefined ? "" : `,"value":${value}`
  }}`;

function kept(steps: readonly (readonly [string, string])[]) {
  const text = endedText({ jid: "1", class: "A", queue: "q", state: "succeeded", endedAt: 1 }, {
    steps: keptSteps(steps),
  });
  return stepsIn(readEnded(text));
}

Deno.test("a record keeps the steps in the order in which they began, with every digit of their values", () => {
  const steps = kept([["b", record(2, "12345678901234567890")], ["a", record(1)], ["", "wake"], ["bad", "no JSON"]]);
  assertEquals(steps.map(({ name, value }) => [name, value]), [["a", undefined], ["b", 12345678901234567890n]]);
  assertEquals(keptSteps([]), undefined);
});

Deno.test("a record keeps the latest 100 steps, up to 32 KiB, and large ones without their value", () => {
  const many = kept(Array.from({ length: 101 }, (_, i) => [`s${i}`, record(i)] as const));
  assertEquals([many.length, many[0]!.name, many.at(-1)!.name], [100, "s1", "s100"]);
  const value = JSON.stringify("x".repeat(1_800));
  const large = kept(Array.from({ length: 50 }, (_, i) => [`s${i}`, record(i, value)] as const));
  assertEquals([large.length, large.at(-1)!.name], [17, "s49"]);
  assertEquals(kept([["s", record(1, JSON.stringify("x".repeat(2_000)))]]).map((step) => "value" in step), [false]);
});

Deno.test("steps of a record that another program wrote are left out if they can't be shown", () => {
  for (const steps of [1, null, "x", {}, [1, null, {}, { name: "a" }, { name: "a", state: "x", kind: "step" }]]) {
    assertEquals(stepsIn({ steps } as never), []);
  }
});
