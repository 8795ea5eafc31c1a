import { assertEquals } from "@std/assert";
import { parsePayload } from "../job/job.ts";
import { getField } from "../job/raw.ts";
import { MAX_STEP_CHARACTERS } from "../job/step.ts";
import type { Outcome, ParentStep } from "../store/port/outcomes.ts";
import { withSteps } from "./outcome.ts";

/** Returns a job with more fields. */
function jobWith(fields: Record<string, unknown> = {}) {
  return parsePayload(JSON.stringify({ class: "A", args: [], jid: "child", ...fields }))!;
}

const CHILD = jobWith({ parent: { jid: "parent", step: "ship" } });
const PAYLOAD = CHILD.raw;
const OUTCOMES: readonly Outcome[] = [
  { kind: "ack", token: "t" },
  { kind: "discard", token: "t" },
  { kind: "bury", token: "t", payload: PAYLOAD },
  { kind: "retry", token: "t", payload: PAYLOAD, delayMs: 1 },
  { kind: "snooze", token: "t", payload: PAYLOAD, delayMs: 1 },
  { kind: "release", token: "t" },
];

function failure(error: { readonly class: string; readonly message: string }): ParentStep {
  const outcome = `"error":${JSON.stringify(error)},"final":true`;
  return { jid: "parent", step: "ship", child: "child", state: "failed", outcome };
}

Deno.test("every outcome that ends a child ends the step that waits for it, and no other does", () => {
  const ended = { error: new TypeError("no") };
  const parent = failure({ class: "TypeError", message: "no" });
  for (const outcome of OUTCOMES) {
    const isEnd = ["ack", "discard", "bury"].includes(outcome.kind);
    assertEquals(withSteps(outcome, { job: CHILD }, ended), isEnd ? { ...outcome, parent } : outcome);
  }
});

Deno.test("the step that waits for a child receives its result, or why that can't be read", () => {
  const [ack] = OUTCOMES;
  const parentOf = (returned: { text?: string; problem?: string }) =>
    withSteps(ack!, { job: CHILD }, { returned }).parent;
  const succeeded = { jid: "parent", step: "ship", child: "child", state: "succeeded" } as const;
  assertEquals(parentOf({}), { ...succeeded, outcome: "" });
  assertEquals(parentOf({ text: "[1]" }), { ...succeeded, outcome: `"value":[1]` });
  const largest = "1".repeat(MAX_STEP_CHARACTERS);
  assertEquals(parentOf({ text: largest }), { ...succeeded, outcome: `"value":${largest}` });
  const tooLarge = `Its result has ${MAX_STEP_CHARACTERS + 1} characters of JSON; at most ${MAX_STEP_CHARACTERS}`;
  assertEquals(parentOf({ text: `${largest}1` }), failure({ class: "StepError", message: tooLarge }));
  const cut = { text: "1", problem: "it is cut" };
  assertEquals(parentOf(cut), failure({ class: "StepError", message: "Its result can't be read: it is cut" }));
});

Deno.test("a parent that isn't a jid and a step is ignored", () => {
  for (const parent of [null, 1, "parent", [], { jid: "a" }, { step: "a" }, { jid: 1, step: "a" }]) {
    assertEquals(withSteps(OUTCOMES[0]!, { job: jobWith({ parent }) }, {}), OUTCOMES[0]);
  }
});

Deno.test("the outcome of a job with steps says so, and marks the payload that the next attempt reads", () => {
  const job = jobWith();
  for (const attempted of [{ job, steps: { hasWritten: true } }, { job: jobWith({ has_steps: true }) }]) {
    for (const outcome of OUTCOMES) {
      const { payload, ...rest } = withSteps(outcome, attempted, {}) as Outcome & { payload?: string };
      const { payload: before, ...expected } = outcome as Outcome & { payload?: string };
      assertEquals<unknown>(rest, { ...expected, steps: true, jid: "child" });
      assertEquals(payload === undefined, before === undefined);
      if (payload !== undefined) assertEquals(getField(payload, "has_steps"), true);
    }
  }
  for (const outcome of OUTCOMES) assertEquals(withSteps(outcome, { job, steps: { hasWritten: false } }, {}), outcome);
});
