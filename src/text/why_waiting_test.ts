import { assertEquals } from "@std/assert";
import type { Step } from "../job/step.ts";
import type { Entry } from "../store/admin/admin.ts";
import { whyHeld, whyNotRunning } from "./why_waiting.ts";

const NOW = Date.UTC(2026, 10, 23, 8);
const DAY_MS = 86_400_000;
const ASLEEP: Entry = {
  ref: "s1",
  place: { in: "scheduled" },
  at: NOW + DAY_MS,
  payload: '{"class":"Order","args":[],"jid":"o1"}',
};

/** Returns why the job waits, with a worker of its queue online. */
function why(...waitingSteps: readonly Omit<Step, "since">[]): readonly string[] {
  const worker = { alive: true, quiet: false, busy: 0, concurrency: 1, queues: ["default"], classes: ["Order"] };
  const steps = waitingSteps.map((step) => ({ since: NOW, ...step }));
  return whyNotRunning(ASLEEP, { workers: [worker], queues: [], now: NOW, waitingSteps: steps });
}

Deno.test("a scheduled job waits for its time", () => {
  assertEquals(why(), ["It is due in 1d."]);
});

Deno.test("a job with steps says which step sleeps, and what each wait is for", () => {
  const waiting = { state: "waiting", until: NOW + DAY_MS } as const;
  assertEquals(
    why(
      { ...waiting, name: "cooling off", kind: "sleep" },
      { ...waiting, name: "approval", kind: "wait", key: "order:42" },
      { ...waiting, name: "invoice", kind: "child", child: "c1" },
    ),
    [
      'Step "cooling off" sleeps until 2026-11-24 08:00 UTC, in 1d. jobs steps wake ends the sleep.',
      'Step "approval" waits for signal "order:42", until 2026-11-24 08:00 UTC, in 1d, at most. jobs signal sends it.',
      'Step "invoice" waits for job c1, until 2026-11-24 08:00 UTC, in 1d, at most.',
    ],
  );
});

Deno.test("a job whose steps' time has passed is only due", () => {
  assertEquals(why({ name: "nap", kind: "sleep", state: "waiting", until: NOW }), ["It is due in 1d."]);
});

Deno.test("a dead job names the command that helps: a retry repeats no step that failed for good", () => {
  const why = (fields: object) => {
    const payload = JSON.stringify({ class: "Order", args: [], jid: "o1", ...fields });
    return whyNotRunning({ ref: "d1", place: { in: "dead" }, payload }, { workers: [], queues: [], now: NOW });
  };
  assertEquals(why({}), ["It is dead: it was killed. jobs retry runs it again."]);
  assertEquals(why({ error_class: "TypeError" }), [
    "It is dead: its retries are exhausted. jobs retry runs it again.",
  ]);
  for (const failure of ["StepFailed", "ChildFailed"]) {
    assertEquals(why({ error_class: failure }), [
      "It is dead: one of its steps failed for good. jobs steps rerun runs it again from that step.",
    ]);
  }
});

Deno.test("a queued job says that its group, its queue or all queues are paused, and until when", () => {
  const entry: Entry = { ref: "q1", place: { in: "queue", queue: "mail", group: "acme" }, payload: ASLEEP.payload };
  const paused = (name: string, forMs?: number) => ({
    name,
    paused: true,
    ...(forMs !== undefined && { pausedForMs: forMs }),
  });
  const group = (more: object) => ({ ...{ name: "acme", size: 1, running: 0, latencyMs: 0, paused: false }, ...more });
  const said = (around: object) => {
    const all = { workers: [], queues: [], now: NOW, ...around } as Parameters<typeof whyHeld>[1];
    return [whyHeld(entry, all), whyNotRunning(entry, all).filter((reason) => !reason.startsWith("No worker"))];
  };
  const end = "until 2026-11-24 08:00 UTC, in 1d";
  assertEquals(said({}), [undefined, []]);
  assertEquals(said({ group: group({}) }), [undefined, []]);
  assertEquals(said({ group: group({ paused: true, pausedForMs: DAY_MS }) }), [
    `group "acme" is paused ${end}`,
    [`Group "acme" is paused ${end}.`],
  ]);
  assertEquals(said({ queues: [paused("*", DAY_MS)] }), [`all queues are paused ${end}`, [
    `All queues are paused ${end}.`,
  ]]);
  assertEquals(said({ queues: [paused("mail")], group: group({ paused: true }) }), [
    'group "acme" is paused until it is resumed',
    ['Queue "mail" is paused until it is resumed.', 'Group "acme" is paused until it is resumed.'],
  ]);
  assertEquals(said({ queues: [paused("other")] }), [undefined, []]);
  assertEquals(
    whyHeld(ASLEEP, { workers: [], queues: [paused("*")], now: NOW }),
    undefined,
  );
});
