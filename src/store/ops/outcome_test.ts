import { assertEquals } from "@std/assert";
import { type Job, parsePayload } from "../../job/job.ts";
import { getField } from "../../job/raw.ts";
import { MAX_STEP_CHARACTERS } from "../../job/step.ts";
import type { Outcome, ParentStep } from "../port/outcomes.ts";
import { type AttemptEnd, type Ended, outcomeOf } from "./outcome.ts";

/** Returns a job with more fields. */
function jobWith(fields: Record<string, unknown> = {}) {
  return parsePayload(JSON.stringify({ class: "A", args: [], jid: "child", ...fields }))!;
}

const CHILD = jobWith({ parent: { jid: "parent", step: "ship" } });
const PAYLOAD = CHILD.raw;
const ACK: AttemptEnd = { kind: "ack", as: "succeeded" };
const ENDS: readonly AttemptEnd[] = [
  ACK,
  { kind: "ack", as: "cancelled" },
  { kind: "ack", as: "expired" },
  { kind: "discard" },
  { kind: "bury", payload: PAYLOAD },
];
const RUNS_AGAIN: readonly AttemptEnd[] = [
  { kind: "retry", payload: PAYLOAD, delayMs: 1 },
  { kind: "snooze", payload: PAYLOAD, delayMs: 1 },
];

/** Returns the outcome without the token and the event. */
function outcome(end: AttemptEnd, job: Job, ended: Ended = {}): Partial<Outcome> & { readonly payload?: string } {
  const { token, event: _, ...rest } = outcomeOf("t", job, end, ended);
  assertEquals(token, "t");
  return rest;
}

/** Returns the outcome of an end from which nothing follows. */
function bare(end: AttemptEnd): Partial<Outcome> {
  const { as: _, ...rest } = end as AttemptEnd & { as?: string };
  return rest;
}

function failure(error: { readonly class: string; readonly message: string }): ParentStep {
  const outcome = `"error":${JSON.stringify(error)},"final":true`;
  return { jid: "parent", step: "ship", child: "child", state: "failed", outcome };
}

Deno.test("every end of a child ends the step that waits for it, and no other outcome does", () => {
  const ended = { error: new TypeError("no") };
  const parent = failure({ class: "TypeError", message: "no" });
  for (const end of ENDS) assertEquals(outcome(end, CHILD, ended), { ...bare(end), parent });
  for (const end of RUNS_AGAIN) assertEquals(outcome(end, CHILD, ended), bare(end));
});

Deno.test("the step that waits for a child receives its result, or why that can't be read", () => {
  const parentOf = (returned: { text?: string; problem?: string }) => outcome(ACK, CHILD, { returned }).parent;
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

Deno.test("an end has the event that its store can't make itself, and no other outcome has one", () => {
  const error = new TypeError("no");
  const eventOf = (end: AttemptEnd) => outcomeOf("t", CHILD, end, { error }).event;
  const why = ',"error":{"class":"TypeError","message":"no"}';
  assertEquals(ENDS.map(eventOf), [
    undefined,
    '"type":"cancelled"',
    '"type":"expired"',
    `"type":"failed"${why}`,
    `"type":"dead"${why}`,
  ]);
  assertEquals(RUNS_AGAIN.map(eventOf), [undefined, undefined]);
});

Deno.test("a parent that isn't a jid and a step is ignored", () => {
  for (const parent of [null, 1, "parent", [], { jid: "a" }, { step: "a" }, { jid: 1, step: "a" }]) {
    assertEquals(outcome(ACK, jobWith({ parent })), { kind: "ack" });
  }
});

Deno.test("the outcome of a job with steps says so, and marks the payload that the next attempt reads", () => {
  const job = jobWith();
  for (const [attempted, hasWritten] of [[job, true], [jobWith({ has_steps: true }), undefined]] as const) {
    for (const end of [...ENDS, ...RUNS_AGAIN]) {
      const { payload, ...rest } = outcome(end, attempted, { hasWritten });
      const { payload: before, ...expected } = bare(end) as { payload?: string };
      assertEquals<unknown>(rest, { ...expected, steps: true, jid: "child" });
      assertEquals(payload === undefined, before === undefined);
      if (payload !== undefined) assertEquals(getField(payload, "has_steps"), true);
    }
  }
  for (const end of [...ENDS, ...RUNS_AGAIN]) assertEquals(outcome(end, job, { hasWritten: false }), bare(end));
});

Deno.test("every end of a member changes the counters of its batch, and no other outcome does", () => {
  const member = jobWith({ batch: "b", batch_counted: "pending" });
  const changes = ENDS.map((end) => outcome(end, member).batch);
  const states = ["succeeded", "cancelled", "expired", "failed", "dead"] as const;
  assertEquals(changes, states.map((to) => ({ id: "b", from: "pending", to })));
  const { payload } = outcome({ kind: "bury", payload: member.raw }, member);
  assertEquals(getField(payload!, "batch_counted"), "dead");
  for (const end of RUNS_AGAIN) assertEquals(outcome(end, member), bare(end));
  assertEquals(outcome(ACK, jobWith({ batch: "b" })), { kind: "ack" });
});

Deno.test("the end of a flow's node carries its result, which is read for nodes alone", () => {
  const node = jobWith({ batch: "b", batch_counted: "pending", flow_node: "load" });
  assertEquals(outcome(ACK, node, { nodeResult: () => "[1]" }).batch?.result, "[1]");
  assertEquals(outcome(ACK, node, { nodeResult: () => undefined }).batch, {
    ...{ id: "b", from: "pending", to: "succeeded", node: "load" },
  });
  const read = () => assertEquals("read", "not read");
  outcome(ACK, jobWith({ batch: "b", batch_counted: "pending" }), { nodeResult: read as () => undefined });
});

Deno.test("every end releases the unique lock and the cron entry and keeps the record, and no other outcome does", () => {
  const job = jobWith({ unique_key: "k" });
  const record = { jid: "child", ttlMs: 1, body: "{}" };
  for (const end of ENDS) {
    assertEquals(outcome(end, job, { record }), { ...bare(end), unlock: "k", jid: "child", record });
  }
  for (const end of RUNS_AGAIN) assertEquals(outcome(end, job, { record }), bare(end));
});
