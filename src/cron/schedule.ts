/**
 * A schedule: the endless list of times at which an entry occurs. Rules and intervals are schedules; what can be said
 * of any schedule with `next` alone is said here.
 *
 * Times are epoch milliseconds.
 *
 * @module
 */

/** When something occurs. */
export interface Schedule {
  /** The first time later than `after`; undefined when there is none. It depends on nothing but `after`. */
  next(after: number): number | undefined;
}

/** The times later than `from` and not later than `to`, earliest first; at most `limit`. */
export function between(schedule: Schedule, from: number, to: number, limit: number): number[] {
  const times: number[] = [];
  let time = schedule.next(from);
  while (time !== undefined && time <= to && times.length < limit) {
    times.push(time);
    time = schedule.next(time);
  }
  return times;
}

/**
 * The last time that is earlier than `before` and not earlier than `notBefore`; undefined when there is none.
 *
 * It is found by bisection with `next`, so that looking back can never disagree with looking ahead, and a year of
 * seconds costs no more than a minute of them.
 */
export function previous(schedule: Schedule, before: number, notBefore: number): number | undefined {
  const isEarly = (time: number) => (schedule.next(time) ?? Infinity) < before;
  let late = before - 1;
  let early = late;
  for (let step = 1_000; !isEarly(early); step *= 2) {
    if (early < notBefore) return undefined;
    late = early;
    early = Math.max(before - step, notBefore - 1);
  }
  // `early` has an occurrence between itself and `before`, `late` has none: the last occurrence is the first such `late`.
  while (late - early > 1) {
    const middle = Math.floor((early + late) / 2);
    if (isEarly(middle)) early = middle;
    else late = middle;
  }
  return late;
}
