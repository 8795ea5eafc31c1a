/**
 * A time zone: converts instants to wall times, and wall times to instants.
 *
 * An instant is epoch milliseconds. A wall time is what a clock in the zone shows, as the epoch milliseconds at which a
 * clock in UTC shows the same. Arithmetic of days and hours is therefore plain arithmetic in UTC, and only this file
 * depends on the rules of zones.
 *
 * @module
 */

/** A period without a clock change in the zone. */
export interface Segment {
  /** The first instant; -Infinity if no change precedes it. */
  readonly start: number;
  /** The first instant after the period; Infinity if no change follows. */
  readonly end: number;
  /** Wall time minus instant, in milliseconds. */
  readonly offset: number;
}

/** Larger than the offset of any zone. */
const MAX_OFFSET_MS = 16 * 3600 * 1000;
/** No clock change moves the wall time further than this. */
export const MAX_SHIFT_MS = 2 * MAX_OFFSET_MS;
/** At most this many segments are cached. A schedule reads times close to each other, mostly in one or two segments. */
const MAX_SEGMENTS = 8;

/** Zones that are kept. The database has 600 names, with any spelling of upper and lower case. */
const MAX_ZONES = 1_000;
const zones = new Map<string, Zone>();

/** A time zone of the IANA database that comes with the runtime. */
export class Zone {
  /** The name as the database spells it: `Europe/London`, `UTC`. */
  readonly name: string;
  readonly #segments: Segment[] = [];

  /** Returns the zone of a name, once made: its segments are shared. @throws {RangeError} if the zone doesn't exist */
  static of(name: string): Zone {
    const known = zones.get(name) ?? new Zone(name);
    // The names in use are few. Invalid ones aren't kept.
    if (zones.size >= MAX_ZONES) zones.clear();
    zones.set(name, known);
    return known;
  }

  /**
   * @param name `Europe/London`, `UTC`, or a fixed offset such as `+05:30`
   * @throws {RangeError} if the zone doesn't exist
   */
  constructor(name: string) {
    try {
      this.name = at(0, name).timeZoneId;
    } catch {
      if (typeof Temporal === "undefined") {
        throw new RangeError(
          `Can't read time zone "${name}": this runtime has no Temporal; use Deno 2.8 or later, or an executable made with it`,
        );
      }
      throw new RangeError(
        `Unknown time zone "${name}"; expected a name of the IANA database such as "Europe/London", or "UTC"`,
      );
    }
  }

  wallAt(instant: number): number {
    return instant + this.segmentAt(instant).offset;
  }

  /**
   * Returns the instant at which clocks show `wall`. For a time that is repeated because clocks are put back, this is the
   * first instant. For a time that is skipped because clocks are put forward, it is the moment of the change. A later wall
   * time therefore never has an earlier instant.
   */
  instantOf(wall: number): number {
    let segment = this.segmentAt(wall - MAX_OFFSET_MS);
    while (wall - segment.offset >= segment.end) segment = this.segmentAt(segment.end);
    return Math.max(wall - segment.offset, segment.start);
  }

  /** Returns the period without a clock change that contains an instant. */
  segmentAt(instant: number): Segment {
    const cached = this.#segments.find((segment) => segment.start <= instant && instant < segment.end);
    if (cached !== undefined) return cached;
    const segment: Segment = {
      // "previous" returns only earlier transitions, and the instant itself may be one.
      start: at(instant + 1, this.name).getTimeZoneTransition("previous")?.epochMilliseconds ?? -Infinity,
      end: at(instant, this.name).getTimeZoneTransition("next")?.epochMilliseconds ?? Infinity,
      offset: at(instant, this.name).offsetNanoseconds / 1e6,
    };
    if (this.#segments.unshift(segment) > MAX_SEGMENTS) this.#segments.pop();
    return segment;
  }
}

function at(instant: number, zone: string): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(zone);
}
