/**
 * Which occurrences of an entry are due: the decision that is made each time somebody looks at the clock.
 *
 * All that is remembered of the past is one time, `considered`: every occurrence up to it has been decided. An
 * occurrence later than it and not later than now is due, or missed when it is too late. So
 *
 *  1. nothing is decided twice: a clock that jumps back finds nothing due until it is where it was;
 *  2. nothing is forgotten: what nobody was there to decide is found by whoever looks next;
 *  3. a changed schedule counts from the change on: up to it the old one is decided, after it the new one.
 *
 * The time is the store's. That the plan and the jobs it leads to are stored in one step, and only if nobody else was
 * faster, is the store's part.
 *
 * @module
 */
import { between, previous, type Schedule } from "./schedule.ts";
import { isSameSchedule, openSchedule, type ScheduleSpec } from "./schedule_spec.ts";

/** What becomes of occurrences that nobody was there for. */
export interface CatchUp {
  /** `none`: only what is late by a moment; `last`: the last of them; `all`: each. */
  readonly policy: "none" | "last" | "all";
  /** How late one may be. For `none` it does not count. */
  readonly windowMs: number;
}

/** What planning wants to know of an entry. */
export interface Planned {
  /** When. */
  readonly schedule: ScheduleSpec;
  /** What nobody was there for. */
  readonly catchUp: CatchUp;
}

/** What is remembered of an entry between two looks. Plain JSON. */
export interface CronState {
  /** The schedule that was in force at the last look. */
  readonly schedule: ScheduleSpec;
  /** Every occurrence up to this time, and with it, has been decided. */
  readonly considered: number;
  /** Set while it is paused: nothing is due, and what would have been is not caught up. */
  readonly paused?: boolean;
  /** The occurrence that waits until the job of the one before has ended. */
  readonly waiting?: number;
  /** How often each outcome came about since the entry was made; see `counts.ts`. */
  readonly counts?: Readonly<Record<string, number>>;
}

/** Occurrences that are not to happen any more. */
export interface Missed {
  /** How many; at most {@linkcode MAX_COUNTED}, which then means "or more". */
  readonly count: number;
  readonly first: number;
  readonly last: number;
}

/** The outcome of a look. */
export interface Plan {
  /** Occurrences that are to happen now, earliest first. */
  readonly due: readonly number[];
  readonly missed: Missed | undefined;
  /** What to remember; the same object when nothing has changed. */
  readonly state: CronState;
  /** When to look again; undefined: not before something changes. In the past when there is more due already. */
  readonly next: number | undefined;
  /** The clock is so far back that what was considered no longer counts; by so many milliseconds. */
  readonly clockSetBackMs?: number;
}

/** An occurrence that is late by no more than this is on time: a restart, a blocked loop, a store that was away. */
export const ON_TIME_MS = 60_000;
/** So many occurrences are planned at once; the rest at the next look. */
export const MAX_DUE = 1_000;
/** Missed occurrences are counted up to here. */
export const MAX_COUNTED = 10_000;
/**
 * A clock that is back by more than this had been wrong before: what was considered then is forgotten. By less, we wait
 * until it is where it was.
 */
export const MAX_STEP_BACK_MS = 24 * 3_600_000;

/**
 * Decides what is due.
 *
 * @param entry as it is defined now
 * @param state what the last look left; undefined for an entry that was never looked at
 * @param now epoch milliseconds by the store's clock
 */
export function plan(entry: Planned, state: CronState | undefined, now: number): Plan {
  if (state === undefined) {
    return settle({ schedule: entry.schedule, considered: now });
  }
  const changed = !isSameSchedule(entry.schedule, state.schedule);
  if (state.paused) return settle(changed ? changeSchedule(state, entry.schedule, now) : state);
  const setBackMs = state.considered - now;
  if (setBackMs > MAX_STEP_BACK_MS) {
    return { ...settle({ ...state, schedule: entry.schedule, considered: now }), clockSetBackMs: setBackMs };
  }
  const { due, missed, considered } = look(openSchedule(state.schedule), entry.catchUp, {
    after: state.considered,
    now,
  });
  const looked = considered === state.considered ? state : { ...state, considered };
  // What the old schedule has left is decided first; then the new one begins.
  const isDone = due.length < MAX_DUE;
  return { ...settle(changed && isDone ? changeSchedule(looked, entry.schedule, now) : looked), due, missed };
}

/** The state when it is paused. */
export function pause(state: CronState): CronState {
  return { ...state, paused: true };
}

/** The state when it goes on: from now, without what would have been in between. */
export function resume(state: CronState, now: number): CronState {
  const { paused: _, ...rest } = state;
  return { ...rest, considered: Math.max(state.considered, now) };
}

function settle(state: CronState): Plan {
  const next = state.paused ? undefined : openSchedule(state.schedule).next(state.considered);
  return { due: [], missed: undefined, state, next };
}

function changeSchedule(state: CronState, schedule: ScheduleSpec, now: number): CronState {
  return { ...state, schedule, considered: Math.max(state.considered, now) };
}

/** The occurrences of a schedule since the last look, sorted into due and missed. */
function look(schedule: Schedule, { policy, windowMs }: CatchUp, { after, now }: { after: number; now: number }): {
  readonly due: readonly number[];
  readonly missed: Missed | undefined;
  readonly considered: number;
} {
  const first = schedule.next(after);
  if (first === undefined || first > now) return { due: [], missed: undefined, considered: after };
  const earliest = Math.max(first, now - (policy === "none" ? ON_TIME_MS : windowMs));
  if (policy === "all") {
    const due = between(schedule, earliest - 1, now, MAX_DUE);
    const missed = countMissed(schedule, first, earliest - 1);
    return { due, missed, considered: due.length === MAX_DUE ? due.at(-1)! : now };
  }
  const last = previous(schedule, now + 1, earliest);
  return {
    due: last === undefined ? [] : [last],
    missed: countMissed(schedule, first, last === undefined ? now : last - 1),
    considered: now,
  };
}

/** The occurrences from `first`, which is one, to `until`. */
function countMissed(schedule: Schedule, first: number, until: number): Missed | undefined {
  const last = previous(schedule, until + 1, first);
  if (last === undefined) return undefined;
  return { count: between(schedule, first - 1, until, MAX_COUNTED).length, first, last };
}
