import { assertEquals } from "@std/assert";
import { decideManualRun, decideRuns, type Decision, type Overlap } from "./occurrence.ts";
import type { CronState, Plan } from "./plan.ts";

const NOW = Date.UTC(2026, 5, 15, 12);
const SCHEDULE = { everyMs: 1_000, anchor: 0 };

interface Situation {
  readonly due?: readonly number[];
  readonly live?: string;
  readonly waiting?: number;
  readonly missed?: Plan["missed"];
}

/** Times are seconds from now, so mostly negative; jobs get the names a, b, c. */
function decided(overlap: Overlap, { due = [], live, waiting, missed }: Situation): Decision {
  const state: CronState = {
    schedule: SCHEDULE,
    considered: NOW,
    ...(waiting !== undefined && { waiting: NOW + waiting * 1_000 }),
  };
  const plan: Plan = { due: due.map((seconds) => NOW + seconds * 1_000), missed, state, next: NOW + 1_000 };
  const names = ["a", "b", "c"];
  return decideRuns({ name: "beat", overlap, plan, live, now: NOW, newJid: () => names.shift()! });
}

/** In short: jobs as `a-2`, records as `skipped-2 by x`, who waits, who is cancelled. */
function short(decision: Decision): { jobs: string[]; records: string[]; waiting?: number; cancel?: string } {
  const seconds = (at: number) => (at - NOW) / 1_000;
  const { waiting } = decision.state;
  return {
    jobs: decision.jobs.map(({ jid, occurrence }) => `${jid}${seconds(Date.parse(occurrence.scheduledAt))}`),
    records: decision.records.map(({ outcome, scheduledAt, jid }) => `${outcome}${seconds(scheduledAt)} ${jid ?? "-"}`),
    ...(waiting !== undefined && { waiting: seconds(waiting) }),
    ...(decision.cancel !== undefined && { cancel: decision.cancel }),
  };
}

const CASES: [what: string, overlap: Overlap, situation: Situation, expected: ReturnType<typeof short>][] = [
  ["allow: enqueues beside a live job", "allow", { due: [-1], live: "x" }, {
    jobs: ["a-1"],
    records: ["enqueued-1 a"],
  }],
  ["skip: enqueues when there is none", "skip", { due: [-1] }, { jobs: ["a-1"], records: ["enqueued-1 a"] }],
  ["skip: leaves out while there is one", "skip", { due: [-1], live: "x" }, { jobs: [], records: ["skipped-1 x"] }],
  [
    "skip: of several due at once the first is enqueued and stands in the way of the others",
    "skip",
    { due: [-3, -2] },
    { jobs: ["a-3"], records: ["enqueued-3 a", "skipped-2 a"] },
  ],
  ["queue-one: enqueues when there is none", "queue-one", { due: [-1] }, { jobs: ["a-1"], records: ["enqueued-1 a"] }],
  [
    "queue-one: one waits",
    "queue-one",
    { due: [-1], live: "x" },
    { jobs: [], records: ["waiting-1 x"], waiting: -1 },
  ],
  [
    "queue-one: while one waits, others are left out",
    "queue-one",
    { due: [-1], live: "x", waiting: -5 },
    { jobs: [], records: ["skipped-1 x"], waiting: -5 },
  ],
  [
    "queue-one: the one that waits is enqueued when the job before has ended",
    "queue-one",
    { waiting: -5 },
    { jobs: ["a-5"], records: ["enqueued-5 a"] },
  ],
  [
    "queue-one: the one that waits first, then the next waits for it",
    "queue-one",
    { waiting: -5, due: [-1] },
    { jobs: ["a-5"], records: ["enqueued-5 a", "waiting-1 a"], waiting: -1 },
  ],
  ["replace: enqueues when there is none", "replace", { due: [-1] }, { jobs: ["a-1"], records: ["enqueued-1 a"] }],
  [
    "replace: cancels the job before and waits for its end",
    "replace",
    { due: [-1], live: "x" },
    { jobs: [], records: ["waiting-1 x"], waiting: -1, cancel: "x" },
  ],
  [
    "replace: a later one takes the place of the one that waits",
    "replace",
    { due: [-1], live: "x", waiting: -5 },
    { jobs: [], records: ["replaced-5 -", "waiting-1 x"], waiting: -1, cancel: "x" },
  ],
  [
    "replace: asks to cancel again as long as it waits",
    "replace",
    { live: "x", waiting: -5 },
    { jobs: [], records: [], waiting: -5, cancel: "x" },
  ],
  [
    "replace: the one that waits is enqueued when the job before has ended",
    "replace",
    { waiting: -5 },
    { jobs: ["a-5"], records: ["enqueued-5 a"] },
  ],
  [
    "replace: of several the latest alone is enqueued",
    "replace",
    { due: [-3, -2], waiting: -5 },
    { jobs: ["a-2"], records: ["replaced-5 -", "replaced-3 -", "enqueued-2 a"] },
  ],
  [
    "a policy changed to allow lets the one that waits go",
    "allow",
    { waiting: -5, live: "x" },
    { jobs: ["a-5"], records: ["enqueued-5 a"] },
  ],
  ["nothing due, nothing waiting: nothing happens", "skip", { live: "x" }, { jobs: [], records: [] }],
];

for (const [what, overlap, situation, expected] of CASES) {
  Deno.test(`decide, ${what}`, () => {
    assertEquals(short(decided(overlap, situation)), expected);
  });
}

Deno.test("decide never leaves two jobs of an entry that must not overlap", () => {
  for (const overlap of ["skip", "queue-one", "replace"] as const) {
    for (const live of [undefined, "x"]) {
      for (const waiting of [undefined, -9]) {
        for (const due of [[], [-3], [-3, -2, -1]]) {
          const situation = { due, ...(live && { live }), ...(waiting && { waiting }) };
          const { jobs } = decided(overlap, situation);
          assertEquals(jobs.length <= (live ? 0 : 1), true, `${overlap} ${JSON.stringify(situation)}`);
        }
      }
    }
  }
});

Deno.test("decide tells a job its occurrence: name, time in UTC, lateness by the store's clock", () => {
  const [job] = decided("allow", { due: [-2.5] }).jobs;
  assertEquals(job, {
    jid: "a",
    occurrence: { name: "beat", scheduledAt: "2026-06-15T11:59:57.500Z", lateMs: 2_500 },
  });
});

Deno.test("decide records missed occurrences before the others, with how many", () => {
  const missed = { count: 7, first: NOW - 9_000, last: NOW - 3_000 };
  const { records } = decided("allow", { due: [-1], missed });
  assertEquals(records, [
    { outcome: "missed", scheduledAt: NOW - 3_000, decidedAt: NOW, count: 7, first: NOW - 9_000 },
    { outcome: "enqueued", scheduledAt: NOW - 1_000, decidedAt: NOW, jid: "a" },
  ]);
});

Deno.test("decide leaves the state as it is when nobody begins or ends to wait", () => {
  const state: CronState = { schedule: SCHEDULE, considered: NOW, waiting: NOW - 1 };
  const plan: Plan = { due: [], missed: undefined, state, next: undefined };
  const decision = decideRuns({ name: "beat", overlap: "queue-one", plan, live: "x", now: NOW, newJid: () => "a" });
  assertEquals(decision.state === state, true);
});

Deno.test("decideManual makes an occurrence now", () => {
  assertEquals(decideManualRun({ name: "beat", now: NOW, newJid: () => "a" }), {
    job: { jid: "a", occurrence: { name: "beat", scheduledAt: "2026-06-15T12:00:00.000Z", lateMs: 0 } },
    record: { outcome: "manual", scheduledAt: NOW, decidedAt: NOW, jid: "a" },
  });
});
