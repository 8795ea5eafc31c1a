/**
 * A time zone: from an instant to what the clock on the wall shows, and back.
 *
 * A wall time is a number too: the epoch milliseconds at which a clock in UTC would show the same. So all arithmetic of
 * days and hours is plain arithmetic in UTC, and everything that is peculiar to zones is in this file.
 *
 * @module
 */

/** A stretch of time in which the zone's clocks are not changed. */
export interface Segment {
  /** Its first instant; -Infinity when there was no change before. */
  readonly start: number;
  /** The first instant after it; Infinity when no change is to come. */
  readonly end: number;
  /** Wall time minus instant, in milliseconds. */
  readonly offset: number;
}

/** Larger than any zone's distance to UTC. */
const FARTHEST_OFFSET_MS = 16 * 3600 * 1000;
/** Segments kept. A schedule asks for times close to each other, mostly in one or two of them. */
const KEPT_SEGMENTS = 8;

/** One time zone of the IANA database, as the runtime knows it. */
export class Zone {
  /** As the database spells it: `Europe/London`, `UTC`. */
  readonly name: string;
  readonly #segments: Segment[] = [];

  /**
   * @param name `Europe/London`, `UTC`, or a fixed distance such as `+05:30`
   * @throws {RangeError} when there is no such zone
   */
  constructor(name: string) {
    try {
      this.name = at(0, name).timeZoneId;
    } catch {
      throw new RangeError(
        `No time zone "${name}"; wanted: a name of the IANA database such as "Europe/London", or "UTC"`,
      );
    }
  }

  /** What the clock on the wall shows at an instant. */
  wallAt(instant: number): number {
    return instant + this.segmentAt(instant).offset;
  }

  /**
   * The instant at which the wall clock shows `wall`. A time that it shows twice, because it was put back, means the
   * first; a time that it never shows, because it was put forward, means the moment at which that was done. So a later
   * wall time never gives an earlier instant.
   */
  instantOf(wall: number): number {
    let segment = this.segmentAt(wall - FARTHEST_OFFSET_MS);
    while (wall - segment.offset >= segment.end) segment = this.segmentAt(segment.end);
    return Math.max(wall - segment.offset, segment.start);
  }

  /** The stretch of unchanged clocks around an instant. */
  segmentAt(instant: number): Segment {
    const kept = this.#segments.find((segment) => segment.start <= instant && instant < segment.end);
    if (kept !== undefined) return kept;
    const segment: Segment = {
      // "previous" is strictly before what it is asked of, and the instant itself may be a change.
      start: at(instant + 1, this.name).getTimeZoneTransition("previous")?.epochMilliseconds ?? -Infinity,
      end: at(instant, this.name).getTimeZoneTransition("next")?.epochMilliseconds ?? Infinity,
      offset: at(instant, this.name).offsetNanoseconds / 1e6,
    };
    if (this.#segments.unshift(segment) > KEPT_SEGMENTS) this.#segments.pop();
    return segment;
  }
}

function at(instant: number, zone: string): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(zone);
}
