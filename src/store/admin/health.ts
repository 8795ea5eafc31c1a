/**
 * The health of a store: its version, its durability in a power cut, and findings that need an operator.
 *
 * @module
 */

/** The health of a store. */
export interface Health {
  /** The database and its version: `SQLite 3.50.4`, `Redis 7.0.15`. */
  readonly version: string;
  /**
   * The acknowledged pushes that a power cut loses. `full`: none. `normal`: those of the last moments. `none`: those since the
   * last snapshot, or all. Undefined if this user may not read that.
   */
  readonly durability: "full" | "normal" | "none" | undefined;
  /** The store's clock, in epoch milliseconds. */
  readonly now: number;
  /** PostgreSQL: rows that wait for their removal. */
  readonly deadRows?: DeadRows;
  /** The problems. */
  readonly findings: readonly HealthFinding[];
}

/** A problem. */
export interface HealthFinding {
  /** The title of its alert. Default: that dead rows aren't removed. */
  readonly title?: string;
  /** The problem in one line. */
  readonly message: string;
  /** The remedy. */
  readonly cure: string;
  /** The dashboard shows it, too. Default: only `jobs doctor` does. */
  readonly isAlert?: true;
  /** Calls of the store wait for it. */
  readonly isStall?: true;
  /** Reads of the store wait for it, too. */
  readonly blocksReads?: true;
}

/** Rows of PostgreSQL that wait for their removal. */
export interface DeadRows {
  /** How long the oldest transaction has kept dead rows, in milliseconds. */
  readonly horizonAgeMs: number;
  /** Dead rows by table. */
  readonly tables: Readonly<Record<string, number>>;
}
