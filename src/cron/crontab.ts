/**
 * Checks a whole crontab. An invalid crontab is one error that lists all its problems.
 *
 * @module
 */
import { type CheckedEntries, checkEntries, type EntryContext } from "./entry_check.ts";

/** The crontab is invalid, or a change to it is. The message has one line for each problem. */
export class CrontabError extends Error {
  /** `CrontabError`. */
  override readonly name = "CrontabError";
}

/**
 * Checks a crontab.
 *
 * @param crontab expected to be a list of `CronEntryInput`; any other value is a problem, too
 * @throws {CrontabError} if any entry is invalid
 */
export function checkCrontab(crontab: unknown, context: EntryContext): CheckedEntries {
  const checked = checkEntries(crontab, context);
  if (checked.problems.length > 0) {
    throw new CrontabError(checked.problems.map(({ message }) => message).join("\n"));
  }
  return checked;
}
