/**
 * The log level of one job, from the option `log_level` of its push or class, as in Sidekiq. Lines below it are dropped. It
 * never shows lines that the level of the worker hides.
 *
 * @module
 */
import { LOG_LEVELS, type LogLevel } from "../log/format.ts";

/** Returns the first valid level; undefined if none is valid. */
export function firstLevel(...candidates: readonly unknown[]): LogLevel | undefined {
  return candidates.find((one): one is LogLevel => LOG_LEVELS.includes(one as LogLevel));
}

/** Returns whether `level` is at least `minLevel`. */
export function isAtLeast(level: LogLevel, minLevel: LogLevel): boolean {
  return LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(minLevel);
}
