/**
 * One row of the table of settings; the table is in `settings.ts`.
 *
 * @module
 */
import type { Kind } from "./kinds.ts";

/** One row of the table. */
export interface Setting<T> {
  /** Where it stands in the configuration file; a dot leads into an object. */
  readonly key: string;
  /** Its environment variable. */
  readonly env: string;
  /** The option of `jobs run` that sets it. */
  readonly flag?: string;
  /** What it may be. */
  readonly kind: Kind<T>;
  /** What it is when nobody says. */
  readonly default: T;
  /** What it means, in one line. */
  readonly about: string;
  /** Whether HUP applies a change to a running server. */
  readonly live?: boolean;
  /** Whether its value is not shown to anyone. */
  readonly secret?: boolean;
}

/** A row, with the type of its value. */
export function setting<T>(row: Setting<T>): Setting<T> {
  return row;
}
