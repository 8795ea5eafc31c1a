/**
 * A schedule: the infinite list of times at which an entry runs. Cron expressions and intervals are schedules. The
 * functions here work for any schedule, because they use only `next`.
 *
 * Times are epoch milliseconds.
 *
 * @module
 */

export interface Schedule {
  /** Returns the first time later than `after`; undefined if no time follows. The result depends only on `after`. */
  next(after: number): number | undefined;
}

/** Returns the times later than `from` and not later than `to`, earliest first; at most `limit`. */
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
 * Returns the last time earlier than `before` and not earlier than `notBefore`; undefined if no time lies between them.
 *
 * Bisects with `next`, so that it never disagrees with `next`, and a year of seconds costs no more than a minute.
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
  // A time lies between `early` and `before`, and no time between `late` and `before`: the last time is the smallest `late`.
  while (late - early > 1) {
    const middle = Math.floor((early + late) / 2);
    if (isEarly(middle)) early = middle;
    else late = middle;
  }
  return late;
}
