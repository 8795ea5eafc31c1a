/**
 * A whole crontab, checked: usable, or an error that says everything that is wrong with it.
 *
 * @module
 */
import { type CheckedEntries, checkEntries, type EntryContext } from "./entry_check.ts";
import type { CronProblem } from "./entry_fields.ts";

/** The crontab, or what was asked of it, is not usable. The message has a line for each thing that is wrong. */
export class CrontabError extends Error {
  /** Told apart by name. */
  override readonly name = "CrontabError";
}

/**
 * Checks a crontab.
 *
 * @param crontab a list of `CronEntryInput`, or whatever stands in its place
 * @throws {CrontabError} when anything is wrong with it
 */
export function checkCrontab(crontab: unknown, context: EntryContext): CheckedEntries {
  const checked = checkEntries(crontab, context);
  if (checked.problems.length > 0) throw new CrontabError(tell(checked.problems));
  return checked;
}

function tell(problems: readonly CronProblem[]): string {
  return problems.map(({ message }) => message).join("\n");
}
