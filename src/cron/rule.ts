/**
 * A cron expression in a time zone. This file alone defines what happens when clocks change:
 *
 *  1. A time that the zone skips, because clocks are put forward, runs once, at the moment of the change. Several skipped
 *     times share that one run.
 *  2. A time that the zone repeats, because clocks are put back, runs once, at the first of the two instants.
 *  3. An expression with all 24 hours is about elapsed time, not about a time of day. It runs whenever clocks show a
 *     matching time: in both passes of a repeated hour, and not in a skipped one.
 *
 * @module
 */
import { nextWall, type RuleFields } from "./calendar.ts";
import { parseRule } from "./rule_parser.ts";
import type { Schedule } from "./schedule.ts";
import { MAX_SHIFT_MS, Zone } from "./zone.ts";

export class CronRule implements Schedule {
  /** The text as its author wrote it. */
  readonly text: string;
  readonly fields: RuleFields;
  readonly zone: Zone;
  /** The latest result of `next`, and the time from which on it is the result. */
  #from = Infinity;
  #next = -Infinity;

  /**
   * @param text five fields, six with seconds first, or a short form such as `@daily`
   * @param timezone the name of its time zone
   * @throws {RuleError} if the text is invalid, or matches no time
   * @throws {RangeError} if the zone doesn't exist
   */
  constructor(text: string, timezone = "UTC") {
    this.text = text;
    this.fields = parseRule(text);
    this.zone = Zone.of(timezone);
  }

  next(after: number): number | undefined {
    // Many entries have one rule, and are planned at about the same time.
    if (this.#from <= after && after < this.#next) return this.#next;
    const next = this.fields.hours.length === 24 ? this.#nextElapsed(after) : this.#nextOnWall(after);
    if (next !== undefined) [this.#from, this.#next] = [after, next];
    return next;
  }

  /** Returns the first matching wall time whose instant is later. In a repeated hour, matching wall times may be past. */
  #nextOnWall(after: number): number | undefined {
    let wall = nextWall(this.fields, this.zone.wallAt(after));
    while (wall !== undefined && this.zone.instantOf(wall) <= after) wall = nextWall(this.fields, wall);
    return wall === undefined ? undefined : this.zone.instantOf(wall);
  }

  /**
   * Returns the first later instant whose wall time matches. Searches one period without a clock change after the other, but
   * none of those between the current one and the time around the match: a sparse rule would search many.
   */
  #nextElapsed(after: number): number | undefined {
    for (let from = after + 1;;) {
      const { offset, end } = this.zone.segmentAt(from);
      const wall = nextWall(this.fields, from + offset - 1);
      if (wall === undefined || wall - offset < end) return wall === undefined ? undefined : wall - offset;
      // A period that ends soon may be followed by a repeat of times before `from`, which the search has passed.
      from = end - from < MAX_SHIFT_MS ? end : Math.max(end, wall - offset - MAX_SHIFT_MS);
    }
  }
}
