/**
 * Decides which runs of a cron entry are due. The scheduler makes this decision at each check.
 *
 * The state keeps only one time of the past, `considered`: every run up to it has been decided. A run that is later than
 * `considered` and not later than now is due, or missed if it is too late. It follows:
 *
 *  1. No run is decided twice. After the clock has jumped back, no run is due until the clock has caught up.
 *  2. No run is forgotten. Runs that came due while no worker was up are found at the next check.
 *  3. A changed schedule counts from the change. Runs up to the change follow the old schedule, later ones the new one.
 *
 * All times come from the store's clock. The store writes the plan and its jobs in one step, and only if no other worker
 * has written a plan in the meantime.
 *
 * @module
 */
import type { CronRecord } from "./occurrence.ts";
import { between, previous, type Schedule } from "./schedule.ts";
import { isSameSchedule, openSchedule, type ScheduleSpec } from "./schedule_spec.ts";

/** The treatment of runs that came due while no worker was up. */
export interface CatchUp {
  /** `none`: enqueue a run only if it is on time; `last`: enqueue the last one; `all`: enqueue each. */
  readonly policy: "none" | "last" | "all";
  /** A run may be at most this late. Ignored with `none`. */
  readonly windowMs: number;
}

/** The fields of an entry that planning needs. */
export interface Planned {
  /** When it runs. */
  readonly schedule: ScheduleSpec;
  /** Which missed runs to catch up. */
  readonly catchUp: CatchUp;
}

/** The state of an entry between two checks. Plain JSON. */
export interface CronState {
  /** The schedule at the last check. */
  readonly schedule: ScheduleSpec;
  /** Every run up to and including this time has been decided. */
  readonly considered: number;
  /** When the definition got another schedule, while runs of this one were due. Later runs follow the new one. */
  readonly changedAt?: number;
  /** Whether the entry is paused. Then no run is due, and runs during the pause are not caught up. */
  readonly paused?: boolean;
  /** The time of the run that waits until the previous job has ended. */
  readonly waiting?: number;
  /** The number of runs by outcome, since the entry was created; see `counts.ts`. */
  readonly counts?: Readonly<Record<string, number>>;
  /** The outcome of its latest run. */
  readonly last?: CronRecord;
}

/** Runs that are too late to enqueue. */
export interface Missed {
  /** The number of runs; {@linkcode MAX_COUNTED} means that many or more. */
  readonly count: number;
  readonly first: number;
  readonly last: number;
}

export interface Plan {
  /** The times of the runs that are due, earliest first. */
  readonly due: readonly number[];
  readonly missed: Missed | undefined;
  /** The new state; the same object if nothing has changed. */
  readonly state: CronState;
  /** When to check next; undefined if only a change of the entry makes a run due. In the past if more runs are due. */
  readonly next: number | undefined;
  /** Set if the clock was set back so far that `considered` is reset: by this many milliseconds. */
  readonly clockSetBackMs?: number;
}

/** A run is caught up if it is at most this late, unless its entry says otherwise. */
export const DEFAULT_CATCH_UP_WINDOW_MS = 3_600_000;
/** A run is on time if it is at most this late: after a restart, with a blocked event loop or an unreachable store. */
export const ON_TIME_MS = 60_000;
/** A check plans at most this many runs; the next check plans the rest. */
export const MAX_DUE = 250;
/** Missed runs are counted up to this number. */
export const MAX_COUNTED = 2_000;
/**
 * If the clock is set back by more than this, it was wrong before, and `considered` is reset. If it is set back by less,
 * runs wait until the clock has caught up.
 */
export const MAX_STEP_BACK_MS = 24 * 3_600_000;

/**
 * Decides which runs are due.
 *
 * @param entry the entry as it is defined now
 * @param state the state after the last check; undefined for a new entry
 * @param now epoch milliseconds, by the store's clock
 */
export function plan(entry: Planned, state: CronState | undefined, now: number): Plan {
  if (state === undefined) {
    return planWithout({ schedule: entry.schedule, considered: now });
  }
  const changed = !isSameSchedule(entry.schedule, state.schedule);
  if (state.paused) return planWithout(changed ? changeSchedule(state, entry.schedule, now) : state);
  const setBackMs = state.considered - now;
  if (setBackMs > MAX_STEP_BACK_MS) {
    return { ...planWithout({ ...state, schedule: entry.schedule, considered: now }), clockSetBackMs: setBackMs };
  }
  const until = changed ? Math.min(now, state.changedAt ?? now) : now;
  const { due, missed, considered } = runsSince(openSchedule(state.schedule), entry.catchUp, {
    after: state.considered,
    until,
    now,
  });
  const decided = considered === state.considered ? state : { ...state, considered };
  // The due runs of the old schedule are decided before the new schedule begins. The old one may have ended with them.
  const isDone = (openSchedule(state.schedule).next(considered) ?? Infinity) > until;
  return { ...planWithout(changed && isDone ? changeSchedule(decided, entry.schedule, until) : decided), due, missed };
}

/**
 * Returns until when an entry has no runs, because they were decided while the clock was ahead: the time that the clock has to
 * reach again. Undefined if none of its runs falls into that time, or if it is a minute at most.
 */
export function heldUntil({ schedule, considered, paused }: CronState, now: number): number | undefined {
  if (paused || considered - now <= ON_TIME_MS || considered - now > MAX_STEP_BACK_MS) return undefined;
  const next = openSchedule(schedule).next(now);
  return next !== undefined && next <= considered ? considered : undefined;
}

export function pause(state: CronState): CronState {
  return { ...state, paused: true };
}

/** Returns the state of a resumed entry: it continues from now, without the runs during the pause. */
export function resume(state: CronState, now: number): CronState {
  const { paused: _, ...rest } = state;
  return { ...rest, considered: Math.max(state.considered, now) };
}

/** Returns a plan without runs. */
function planWithout(state: CronState): Plan {
  const next = state.paused ? undefined : openSchedule(state.schedule).next(state.considered);
  return { due: [], missed: undefined, state, next };
}

function changeSchedule({ changedAt: _, ...state }: CronState, schedule: ScheduleSpec, now: number): CronState {
  return { ...state, schedule, considered: Math.max(state.considered, now) };
}

/** Returns the due and the missed runs since the last check, up to a time. */
function runsSince(schedule: Schedule, { policy, windowMs }: CatchUp, { after, until, now }: {
  readonly after: number;
  readonly until: number;
  readonly now: number;
}): {
  readonly due: readonly number[];
  readonly missed: Missed | undefined;
  readonly considered: number;
} {
  const first = schedule.next(after);
  if (first === undefined || first > until) return { due: [], missed: undefined, considered: after };
  const earliest = Math.max(first, now - (policy === "none" ? ON_TIME_MS : windowMs));
  if (policy === "all") {
    const due = between(schedule, earliest - 1, until, MAX_DUE);
    const missed = countMissed(schedule, first, Math.min(earliest - 1, until));
    return { due, missed, considered: due.length === MAX_DUE ? due.at(-1)! : until };
  }
  const last = previous(schedule, until + 1, earliest);
  return {
    due: last === undefined ? [] : [last],
    missed: countMissed(schedule, first, last === undefined ? until : last - 1),
    considered: until,
  };
}

/** Counts the runs from `first`, which is the time of a run, to `until`. */
function countMissed(schedule: Schedule, first: number, until: number): Missed | undefined {
  const last = previous(schedule, until + 1, first);
  if (last === undefined) return undefined;
  return { count: between(schedule, first - 1, until, MAX_COUNTED).length, first, last };
}
