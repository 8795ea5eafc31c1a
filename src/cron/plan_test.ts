import { assertEquals } from "@std/assert";
import {
  heldUntil,
  MAX_COUNTED,
  MAX_DUE,
  MAX_STEP_BACK_MS,
  ON_TIME_MS,
  pause,
  type Plan,
  plan,
  resume,
} from "./plan.ts";
import type { CatchUp, CronState, Planned } from "./plan.ts";
import { between } from "./schedule.ts";
import { openSchedule, type ScheduleSpec } from "./schedule_spec.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const NOON = Date.UTC(2026, 5, 15, 12);

const HOURLY: ScheduleSpec = { rule: "0 0 * * * *", timezone: "UTC" };
const DAILY: ScheduleSpec = { rule: "0 30 3 * * *", timezone: "Europe/London" };

function entry(schedule: ScheduleSpec, policy: CatchUp["policy"] = "last", windowMs = HOUR): Planned {
  return { schedule, catchUp: { policy, windowMs } };
}

function considered(schedule: ScheduleSpec, at: number): CronState {
  return { schedule, considered: at };
}

/** Returns the due runs, in hours from noon, and the number of missed ones. */
function hours({ due, missed }: Plan): { due: number[]; missed: number } {
  return { due: due.map((at) => (at - NOON) / HOUR), missed: missed?.count ?? 0 };
}

Deno.test("plan: a new entry begins now, without runs of the past", () => {
  const first = plan(entry(HOURLY, "all", DAY), undefined, NOON + 10 * MINUTE);
  assertEquals(first.due, []);
  assertEquals(first.missed, undefined);
  assertEquals(first.state, { schedule: HOURLY, considered: NOON + 10 * MINUTE });
  assertEquals(first.next, NOON + HOUR);
});

Deno.test("plan: a run is due at its time, not a millisecond before, and once", () => {
  const state = considered(HOURLY, NOON);
  const early = plan(entry(HOURLY), state, NOON + HOUR - 1);
  assertEquals(early.due, []);
  assertEquals(early.state, state);
  assertEquals(early.state === state, true, "the state is unchanged");
  assertEquals(early.next, NOON + HOUR);

  const onTime = plan(entry(HOURLY), state, NOON + HOUR);
  assertEquals(onTime.due, [NOON + HOUR]);
  assertEquals(onTime.next, NOON + 2 * HOUR);
  assertEquals(plan(entry(HOURLY), onTime.state, NOON + HOUR).due, []);
});

Deno.test("plan: catches up no run, the last or all, within the window; the others are missed", () => {
  const state = considered(HOURLY, NOON);
  const now = NOON + 5 * HOUR + 20 * MINUTE;
  assertEquals(hours(plan(entry(HOURLY, "none"), state, now)), { due: [], missed: 5 });
  assertEquals(hours(plan(entry(HOURLY, "last", HOUR), state, now)), { due: [5], missed: 4 });
  assertEquals(hours(plan(entry(HOURLY, "last", 19 * MINUTE), state, now)), { due: [], missed: 5 });
  assertEquals(hours(plan(entry(HOURLY, "last", 20 * MINUTE), state, now)), { due: [5], missed: 4 });
  assertEquals(hours(plan(entry(HOURLY, "all", DAY), state, now)), { due: [1, 2, 3, 4, 5], missed: 0 });
  assertEquals(hours(plan(entry(HOURLY, "all", 140 * MINUTE), state, now)), { due: [3, 4, 5], missed: 2 });
  assertEquals(hours(plan(entry(HOURLY, "all", 139 * MINUTE), state, now)), { due: [4, 5], missed: 3 });
  assertEquals(hours(plan(entry(HOURLY, "all", 0), state, now)), { due: [], missed: 5 });
});

Deno.test("plan: returns the first and the last missed run", () => {
  const { missed } = plan(entry(HOURLY, "last", HOUR), considered(HOURLY, NOON), NOON + 3 * HOUR);
  assertEquals(missed, { count: 2, first: NOON + HOUR, last: NOON + 2 * HOUR });
});

Deno.test("plan: a run that is late by at most ON_TIME_MS is due with any catch-up policy", () => {
  const state = considered(HOURLY, NOON);
  assertEquals(hours(plan(entry(HOURLY, "none"), state, NOON + HOUR + ON_TIME_MS)), { due: [1], missed: 0 });
  assertEquals(hours(plan(entry(HOURLY, "none"), state, NOON + HOUR + ON_TIME_MS + 1)), { due: [], missed: 1 });
});

Deno.test("plan: without catch-up, of several runs within ON_TIME_MS only the last is due", () => {
  const every: ScheduleSpec = { everyMs: SECOND, anchor: 0 };
  const { due, missed } = plan(entry(every, "none"), considered(every, NOON), NOON + 5 * SECOND + 300);
  assertEquals(due, [NOON + 5 * SECOND]);
  assertEquals(missed?.count, 4);
});

Deno.test("plan: a clock that jumps back makes no run due twice", () => {
  const { state } = plan(entry(HOURLY), considered(HOURLY, NOON), NOON + HOUR);
  for (const now of [NOON + HOUR - 1, NOON + 30 * MINUTE, NOON - 10 * HOUR]) {
    const back = plan(entry(HOURLY), state, now);
    assertEquals(back.due, []);
    assertEquals(back.missed, undefined);
    assertEquals(back.state === state, true);
    assertEquals(back.next, NOON + 2 * HOUR);
  }
  assertEquals(plan(entry(HOURLY), state, NOON + 2 * HOUR).due, [NOON + 2 * HOUR]);
});

Deno.test("plan: resets at once when the clock was ahead by more than a day, and reports it", () => {
  const state = considered(HOURLY, NOON + 1000 * DAY);
  const right = plan(entry(HOURLY), state, NOON + 1);
  assertEquals(right.due, []);
  assertEquals(right.state.considered, NOON + 1);
  assertEquals(right.next, NOON + HOUR);
  assertEquals(right.clockSetBackMs, 1000 * DAY - 1);
  const within = plan(entry(HOURLY), considered(HOURLY, NOON + MAX_STEP_BACK_MS), NOON);
  assertEquals(within.clockSetBackMs, undefined);
  assertEquals(within.state.considered, NOON + MAX_STEP_BACK_MS);
});

Deno.test("plan: a changed schedule does not repeat a run of the old one", () => {
  const done = plan(entry(DAILY), considered(DAILY, NOON - DAY), NOON);
  const later: ScheduleSpec = { ...DAILY, rule: "0 0 10 * * *" };
  const changed = plan(entry(later, "all", DAY), done.state, NOON);
  assertEquals(changed.due, [], "10:00 was not a time of this entry when it was 10:00");
  assertEquals(changed.state, { schedule: later, considered: NOON });
  assertEquals(changed.next, Date.UTC(2026, 5, 16, 9));
});

Deno.test("plan: a changed schedule does not lose a run that the old one owes", () => {
  const quarterly: ScheduleSpec = { rule: "0 */15 * * * *", timezone: "UTC" };
  const changed = plan(entry(quarterly), considered(HOURLY, NOON), NOON + HOUR + 200);
  assertEquals(changed.due, [NOON + HOUR], "13:00 was due when the new rule came at 13:00:00.2");
  assertEquals(changed.next, NOON + HOUR + 15 * MINUTE);
  assertEquals(plan(entry(quarterly), changed.state, NOON + HOUR + 300).due, []);
});

Deno.test("plan: a schedule that changes and changes back before its time runs once", () => {
  const other: ScheduleSpec = { rule: "0 30 * * * *", timezone: "UTC" };
  const there = plan(entry(other), considered(HOURLY, NOON), NOON + 10 * MINUTE);
  const back = plan(entry(HOURLY), there.state, NOON + 20 * MINUTE);
  assertEquals([...there.due, ...back.due], []);
  assertEquals(plan(entry(HOURLY), back.state, NOON + HOUR).due, [NOON + HOUR]);
});

Deno.test("plan: another catch-up policy is not another schedule", () => {
  const state = considered(HOURLY, NOON);
  assertEquals(plan(entry({ ...HOURLY }, "all"), state, NOON + 1).state === state, true);
});

Deno.test("plan: a paused entry has no due runs, and resuming catches up none", () => {
  const paused = pause(considered(HOURLY, NOON));
  const duringPause = plan(entry(HOURLY, "all", DAY), paused, NOON + 3 * HOUR);
  assertEquals(duringPause.due, []);
  assertEquals(duringPause.missed, undefined);
  assertEquals(duringPause.next, undefined);
  const state = resume(duringPause.state, NOON + 3 * HOUR + 1);
  assertEquals(state, { schedule: HOURLY, considered: NOON + 3 * HOUR + 1 });
  assertEquals(plan(entry(HOURLY, "all", DAY), state, NOON + 4 * HOUR).due, [NOON + 4 * HOUR]);
});

Deno.test("plan: a schedule that changes during a pause applies after it", () => {
  const changed = plan(entry(DAILY), pause(considered(HOURLY, NOON)), NOON + 1);
  assertEquals(changed.state, { schedule: DAILY, considered: NOON + 1, paused: true });
});

Deno.test("plan: neither a changed schedule nor resuming goes back before decided runs when the clock does", () => {
  const decided = considered(HOURLY, NOON + 2 * HOUR);
  const quarterly: ScheduleSpec = { rule: "0 */15 * * * *", timezone: "UTC" };
  const changed = plan(entry(quarterly), decided, NOON);
  assertEquals(changed.state, { schedule: quarterly, considered: NOON + 2 * HOUR });
  assertEquals(changed.next, NOON + 2 * HOUR + 15 * MINUTE);
  assertEquals(resume(pause(decided), NOON), decided);
});

Deno.test("plan: catches up many runs in portions, in order and without a gap", () => {
  const every: ScheduleSpec = { everyMs: SECOND, anchor: 0 };
  const now = NOON + 2.5 * MAX_DUE * SECOND;
  let state = considered(every, NOON);
  const all: number[] = [];
  for (let portion = 0; portion < 3; portion++) {
    const planned = plan(entry(every, "all", DAY), state, now);
    assertEquals(planned.due.length <= MAX_DUE, true);
    all.push(...planned.due);
    state = planned.state;
    if (portion < 2) assertEquals(planned.next! <= now, true, "more to do at once");
    else assertEquals(planned.next, now + SECOND);
  }
  assertEquals(all, between(openSchedule(every), NOON, now, Infinity));
});

Deno.test("plan: a changed schedule waits until the runs of the old one are decided", () => {
  const every: ScheduleSpec = { everyMs: SECOND, anchor: 0 };
  const now = NOON + 1.5 * MAX_DUE * SECOND;
  const first = plan(entry(HOURLY, "all", DAY), considered(every, NOON), now);
  assertEquals(first.due.length, MAX_DUE);
  assertEquals(first.state.schedule, every);
  const second = plan(entry(HOURLY, "all", DAY), first.state, now);
  assertEquals(second.due.length, MAX_DUE / 2);
  assertEquals(second.state, { schedule: HOURLY, considered: now });
});

Deno.test("plan: a changed schedule begins after the last runs of the old one, however many those are", () => {
  for (const count of [MAX_DUE - 1, MAX_DUE, MAX_DUE + 1, 2 * MAX_DUE]) {
    const end = NOON + count * SECOND;
    const old = { everyMs: SECOND, anchor: 0, end };
    const fresh = entry({ everyMs: MINUTE, anchor: 0 }, "all", DAY);
    const now = end + 10 * MINUTE;
    let planned = plan(fresh, { ...considered(old, NOON), changedAt: end }, now);
    let due = planned.due.length;
    while (planned.next !== undefined && planned.next <= now) {
      planned = plan(fresh, planned.state, now);
      due += planned.due.length;
    }
    const runs = between(openSchedule(fresh.schedule), end, now, Infinity).length;
    assertEquals([due, planned.state.schedule], [count + runs, fresh.schedule], `${count} runs`);
  }
});

Deno.test("plan: counts missed runs up to MAX_COUNTED", () => {
  const every: ScheduleSpec = { everyMs: SECOND, anchor: 0 };
  const { due, missed } = plan(entry(every), considered(every, NOON - 3_650 * DAY), NOON);
  assertEquals(due, [NOON]);
  assertEquals(missed, { count: MAX_COUNTED, first: NOON - 3_650 * DAY + SECOND, last: NOON - SECOND });
});

Deno.test("plan: a daily time that the clock skips is due right after the gap, once", () => {
  const state = considered({ rule: "0 30 1 * * *", timezone: "Europe/London" }, Date.UTC(2026, 2, 28, 12));
  const gap = Date.UTC(2026, 2, 29, 1);
  assertEquals(plan(entry(state.schedule), state, gap - 1).due, []);
  const planned = plan(entry(state.schedule), state, gap);
  assertEquals(planned.due, [gap]);
  assertEquals(plan(entry(state.schedule), planned.state, gap + 30 * MINUTE).due, []);
});

Deno.test("plan: decides each run once, as due or missed, whenever the checks happen", () => {
  let seed = 42;
  const random = () => (seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31) / 2 ** 31;
  const specs: ScheduleSpec[] = [
    { rule: "*/10 * * * * *", timezone: "America/New_York" },
    { rule: "0 */7 1-3 * * *", timezone: "Australia/Lord_Howe" },
    { everyMs: 17 * SECOND, anchor: 5 },
  ];
  for (const policy of ["none", "last", "all"] as const) {
    for (const spec of specs) {
      // Begins shortly before clocks go back in both zones of 2026.
      const start = Date.UTC(2026, 9, 31, 12);
      let now = start;
      let state = plan(entry(spec, policy), undefined, now).state;
      const fired: number[] = [];
      let missed = 0;
      for (let check = 0; check < 400; check++) {
        // Mostly short steps; sometimes a long pause; sometimes the clock steps back.
        now += random() < 0.1 ? random() * 4 * HOUR : random() < 0.1 ? -random() * 5 * MINUTE : random() * 40 * SECOND;
        now = Math.floor(now);
        const planned = plan(entry(spec, policy, 2 * HOUR), state, now);
        fired.push(...planned.due);
        missed += planned.missed?.count ?? 0;
        state = planned.state;
      }
      const all = between(openSchedule(spec), start, state.considered, Infinity);
      assertEquals(fired, [...new Set(fired)].sort((a, b) => a - b), "in order, none twice");
      assertEquals(fired.every((at) => all.includes(at)), true);
      assertEquals(fired.length + missed, all.length, `${policy} ${JSON.stringify(spec)}`);
    }
  }
});

Deno.test("heldUntil: runs that a clock ahead has decided are held for more than a minute and at most a day", () => {
  const held = (aheadMs: number, more: Partial<CronState> = {}) =>
    heldUntil({ ...considered({ rule: "0 * * * * *", timezone: "UTC" }, NOON + aheadMs), ...more }, NOON);
  assertEquals(held(ON_TIME_MS), undefined);
  assertEquals(held(ON_TIME_MS + 1), NOON + ON_TIME_MS + 1);
  assertEquals(held(MAX_STEP_BACK_MS), NOON + MAX_STEP_BACK_MS);
  assertEquals(held(MAX_STEP_BACK_MS + 1), undefined);
  assertEquals(held(HOUR, { paused: true }), undefined);
  const hourly = (aheadMs: number) => heldUntil(considered(HOURLY, NOON + aheadMs), NOON);
  assertEquals(
    [hourly(HOUR - 1), hourly(HOUR)],
    [undefined, NOON + HOUR],
    "none of its runs is in that time, and one is",
  );
});
