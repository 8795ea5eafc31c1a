/**
 * A cron rule in a time zone. What it does when clocks are changed is stated here and nowhere else:
 *
 *  1. A time that the zone skips (clocks put forward) occurs once, at the moment the clocks are changed. Several skipped
 *     times occur together, once.
 *  2. A time that the zone repeats (clocks put back) occurs once, the first time.
 *  3. A rule for every hour (its hours are all 24) is about elapsed time, not about a time of the day: it occurs
 *     whenever the clock on the wall shows a matching time, so on both passes of the repeated hour, and not in the
 *     skipped one.
 *
 * @module
 */
import { nextWall, type RuleFields } from "./calendar.ts";
import { parseRule } from "./rule_parser.ts";
import type { Schedule } from "./schedule.ts";
import { Zone } from "./zone.ts";

/** A cron rule in a time zone. */
export class CronRule implements Schedule {
  /** As it was written. */
  readonly text: string;
  readonly fields: RuleFields;
  readonly zone: Zone;

  /**
   * @param text five fields, six with seconds first, or a short form such as `@daily`
   * @param timezone name of the zone in which it is read
   * @throws {RuleError} when the text is not a rule, or the rule never occurs
   * @throws {RangeError} when there is no such zone
   */
  constructor(text: string, timezone = "UTC") {
    this.text = text;
    this.fields = parseRule(text);
    this.zone = new Zone(timezone);
  }

  next(after: number): number | undefined {
    return this.fields.hours.length === 24 ? this.#nextElapsed(after) : this.#nextOnWall(after);
  }

  /** The first matching wall time whose instant is later. A whole repeated hour may match and be over. */
  #nextOnWall(after: number): number | undefined {
    let wall = nextWall(this.fields, this.zone.wallAt(after));
    while (wall !== undefined && this.zone.instantOf(wall) <= after) wall = nextWall(this.fields, wall);
    return wall === undefined ? undefined : this.zone.instantOf(wall);
  }

  /** The first later instant at which the wall clock matches: segment by segment, as within one it runs evenly. */
  #nextElapsed(after: number): number | undefined {
    for (let from = after + 1;;) {
      const { offset, end } = this.zone.segmentAt(from);
      const wall = nextWall(this.fields, from + offset - 1);
      if (wall === undefined || wall - offset < end) return wall === undefined ? undefined : wall - offset;
      from = end;
    }
  }
}
