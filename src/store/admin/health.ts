/**
 * How a store is: what it runs on, what survives a power cut, and what somebody ought to do something about. A part of the
 * port of people.
 *
 * @module
 */

/** What a store says of itself. */
export interface Health {
  /** What it runs on, with its version: `SQLite 3.50.4`, `Redis 7.0.15`. */
  readonly version: string;
  /**
   * What a power cut takes of the pushes that were acknowledged: `full` nothing, `normal` the last moments', `none` all
   * since the last snapshot, or all; undefined where this user may not know.
   */
  readonly durability: "full" | "normal" | "none" | undefined;
  /** The store's clock, in epoch milliseconds. */
  readonly now: number;
  /** What is not as it should be. */
  readonly findings: readonly HealthFinding[];
}

/** Something that is not as it should be. */
export interface HealthFinding {
  /** What it is; one line. */
  readonly message: string;
  /** What to do about it. */
  readonly cure: string;
}
