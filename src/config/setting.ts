/**
 * One row of the table of settings in `settings.ts`.
 *
 * @module
 */
import type { Kind } from "./kinds.ts";

/**
 * A row as written in the table.
 *
 * @internal
 */
export interface SettingRow<T> {
  /** Its path in the configuration file; a dot leads into an object. */
  readonly key: string;
  /** The option of `jobs run` or `jobs web` that sets it. */
  readonly flag?: string;
  readonly kind: Kind<T>;
  readonly default: T;
  /** Its meaning, in one line. */
  readonly about: string;
  /** Whether HUP applies a change to a running worker. */
  readonly live?: boolean;
  /** Whether its value may have a secret: an error doesn't show it. */
  readonly secret?: boolean;
}

/** A row with its environment variable. */
export interface Setting<T> extends SettingRow<T> {
  /** Derived from the key: `log.level` is `JOBS_LOG_LEVEL`. */
  readonly env: string;
}

/** Returns a row with its environment variable, typed by its value. */
export function setting<T>(row: SettingRow<T>): Setting<T> {
  return { ...row, env: `JOBS_${row.key.replaceAll(".", "_").replace(/[A-Z]/g, "_$&").toUpperCase()}` };
}
