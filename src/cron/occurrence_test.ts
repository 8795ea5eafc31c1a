import { assertEquals } from "@std/assert";
import { decideManualRun, decideRuns, type Decision, type Overlap } from "./occurrence.ts";
import type { CronState, Plan } from "./plan.ts";

const NOW = Date.UTC(2026, 5, 15, 12);
const SCHEDULE = { everyMs: 1_000, anchor: 0 };

interface Case {
  readonly due?: readonly number[];
  readonly live?: string;
  readonly waiting?: number;
  readonly missed?: Plan["missed"];
}

/** Decides a case. Times are seconds from now, so mostly negative. Jobs get the names a, b, c. */
function decided(overlap: Overlap, { due = [], live, waiting, missed }: Case): Decision {
  const state: CronState = {
    schedule: SCHEDULE,
    considered: NOW,
    ...(waiting !== undefined && { waiting: NOW + waiting * 1_000 }),
  };
  const plan: Plan = { due: due.map((seconds) => NOW + seconds * 1_000), missed, state, next: NOW + 1_000 };
  const names = ["a", "b", "c"];
  return decideRuns({ name: "beat", overlap, plan, live, now: NOW, newJid: () => names.shift()! });
}

/** Abbreviates a decision: jobs as `a-2`, records as `skipped-2 x`, the waiting run and the cancelled job. */
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

const CASES: [behaviour: string, overlap: Overlap, given: Case, expected: ReturnType<typeof short>][] = [
  ["allow: enqueues while a job is live", "allow", { due: [-1], live: "x" }, {
    jobs: ["a-1"],
    records: ["enqueued-1 a"],
  }],
  ["skip: enqueues when no job is live", "skip", { due: [-1] }, { jobs: ["a-1"], records: ["enqueued-1 a"] }],
  ["skip: skips while a job is live", "skip", { due: [-1], live: "x" }, { jobs: [], records: ["skipped-1 x"] }],
  [
    "skip: of several due runs, enqueues the first and skips the others",
    "skip",
    { due: [-3, -2] },
    { jobs: ["a-3"], records: ["enqueued-3 a", "skipped-2 a"] },
  ],
  ["queue-one: enqueues when no job is live", "queue-one", { due: [-1] }, { jobs: ["a-1"], records: ["enqueued-1 a"] }],
  [
    "queue-one: the first run waits",
    "queue-one",
    { due: [-1], live: "x" },
    { jobs: [], records: ["waiting-1 x"], waiting: -1 },
  ],
  [
    "queue-one: skips runs while one waits",
    "queue-one",
    { due: [-1], live: "x", waiting: -5 },
    { jobs: [], records: ["skipped-1 x"], waiting: -5 },
  ],
  [
    "queue-one: enqueues the waiting run when the previous job has ended",
    "queue-one",
    { waiting: -5 },
    { jobs: ["a-5"], records: ["enqueued-5 a"] },
  ],
  [
    "queue-one: enqueues the waiting run, then the next run waits for it",
    "queue-one",
    { waiting: -5, due: [-1] },
    { jobs: ["a-5"], records: ["enqueued-5 a", "waiting-1 a"], waiting: -1 },
  ],
  ["replace: enqueues when no job is live", "replace", { due: [-1] }, { jobs: ["a-1"], records: ["enqueued-1 a"] }],
  [
    "replace: cancels the previous job and waits for its end",
    "replace",
    { due: [-1], live: "x" },
    { jobs: [], records: ["waiting-1 x"], waiting: -1, cancel: "x" },
  ],
  [
    "replace: a later run replaces the waiting one",
    "replace",
    { due: [-1], live: "x", waiting: -5 },
    { jobs: [], records: ["replaced-5 -", "waiting-1 x"], waiting: -1, cancel: "x" },
  ],
  [
    "replace: cancels again at each decision while a run waits",
    "replace",
    { live: "x", waiting: -5 },
    { jobs: [], records: [], waiting: -5, cancel: "x" },
  ],
  [
    "replace: enqueues the waiting run when the previous job has ended",
    "replace",
    { waiting: -5 },
    { jobs: ["a-5"], records: ["enqueued-5 a"] },
  ],
  [
    "replace: of several runs, enqueues only the latest",
    "replace",
    { due: [-3, -2], waiting: -5 },
    { jobs: ["a-2"], records: ["replaced-5 -", "replaced-3 -", "enqueued-2 a"] },
  ],
  [
    "enqueues the waiting run when the policy changes to allow",
    "allow",
    { waiting: -5, live: "x" },
    { jobs: ["a-5"], records: ["enqueued-5 a"] },
  ],
  ["does nothing when no run is due or waiting", "skip", { live: "x" }, { jobs: [], records: [] }],
];

for (const [behaviour, overlap, given, expected] of CASES) {
  Deno.test(`decideRuns, ${behaviour}`, () => {
    assertEquals(short(decided(overlap, given)), expected);
  });
}

Deno.test("decideRuns never enqueues a second job of an entry that must not overlap", () => {
  for (const overlap of ["skip", "queue-one", "replace"] as const) {
    for (const live of [undefined, "x"]) {
      for (const waiting of [undefined, -9]) {
        for (const due of [[], [-3], [-3, -2, -1]]) {
          const given = { due, ...(live && { live }), ...(waiting && { waiting }) };
          const { jobs } = decided(overlap, given);
          assertEquals(jobs.length <= (live ? 0 : 1), true, `${overlap} ${JSON.stringify(given)}`);
        }
      }
    }
  }
});

Deno.test("decideRuns skips a waiting run of a paused entry when the previous job has ended, not before", () => {
  const state: CronState = { schedule: SCHEDULE, considered: NOW, waiting: NOW - 1, paused: true };
  const plan: Plan = { due: [], missed: undefined, state, next: undefined };
  for (const overlap of ["queue-one", "replace"] as const) {
    const decide = (live?: string) => decideRuns({ name: "beat", overlap, plan, live, now: NOW, newJid: () => "a" });
    assertEquals([decide("x").state, decide("x").records], [state, []]);
    const { jobs, records, state: { waiting } } = decide();
    assertEquals([jobs, waiting, records.map(({ outcome, scheduledAt }) => [outcome, scheduledAt])], [
      [],
      undefined,
      [["skipped", NOW - 1]],
    ]);
  }
});

Deno.test("decideRuns gives a job its run: name, time in UTC, lateness by the store's clock", () => {
  const [job] = decided("allow", { due: [-2.5] }).jobs;
  assertEquals(job, {
    jid: "a",
    occurrence: { name: "beat", scheduledAt: "2026-06-15T11:59:57.500Z", lateMs: 2_500 },
  });
});

Deno.test("decideRuns records missed runs before the others, with their number", () => {
  const missed = { count: 7, first: NOW - 9_000, last: NOW - 3_000 };
  const { records } = decided("allow", { due: [-1], missed });
  assertEquals(records, [
    { outcome: "missed", scheduledAt: NOW - 3_000, decidedAt: NOW, count: 7, first: NOW - 9_000 },
    { outcome: "enqueued", scheduledAt: NOW - 1_000, decidedAt: NOW, jid: "a" },
  ]);
});

Deno.test("decideRuns returns the same state when no run begins or ends waiting", () => {
  const state: CronState = { schedule: SCHEDULE, considered: NOW, waiting: NOW - 1 };
  const plan: Plan = { due: [], missed: undefined, state, next: undefined };
  const decision = decideRuns({ name: "beat", overlap: "queue-one", plan, live: "x", now: NOW, newJid: () => "a" });
  assertEquals(decision.state === state, true);
});

Deno.test("decideManualRun decides a run now", () => {
  assertEquals(decideManualRun({ name: "beat", now: NOW, newJid: () => "a" }), {
    job: { jid: "a", occurrence: { name: "beat", scheduledAt: "2026-06-15T12:00:00.000Z", lateMs: 0 } },
    record: { outcome: "manual", scheduledAt: NOW, decidedAt: NOW, jid: "a" },
  });
});
