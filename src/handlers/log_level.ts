/**
 * A level of the log for one job: what its class or its push says (`log_level`), as in Sidekiq. Lines below it are
 * dropped; it never shows what the server's own level hides.
 *
 * @module
 */
import { LOG_LEVELS, type LogLevel } from "../log/format.ts";

/** The first of these that is a level, if any is. */
export function firstLevel(...said: readonly unknown[]): LogLevel | undefined {
  return said.find((one): one is LogLevel => LOG_LEVELS.includes(one as LogLevel));
}

/** Whether a line of `level` is at least of `least`. */
export function isAtLeast(level: LogLevel, least: LogLevel): boolean {
  return LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(least);
}
