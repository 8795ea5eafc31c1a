/**
 * Checks a whole crontab. An invalid crontab is one error that lists all its problems.
 *
 * @module
 */
import { type CheckedEntries, checkEntries, type EntryContext } from "./entry_check.ts";

/**
 * The crontab is invalid, or a change to it is. The message has one line for each problem.
 *
 * @example
 * ```ts
 * import { CrontabError, defineJob, startServer } from "@jobs/jobs";
 *
 * const Clean = defineJob("Clean", () => {});
 * const cron = [{ name: "nightly", rule: "99 3 * * *", class: Clean }];
 * await startServer({ store: "sqlite::memory:", jobs: [Clean], cron, log: false }).catch((error) => {
 *   if (!(error instanceof CrontabError)) throw error;
 * });
 * ```
 */
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
  return requireValid(checkEntries(crontab, context));
}

/**
 * Returns checked entries.
 *
 * @throws {CrontabError} if any entry is invalid
 */
export function requireValid(checked: CheckedEntries): CheckedEntries {
  if (checked.problems.length === 0) return checked;
  throw new CrontabError(checked.problems.map(({ message }) => message).join("\n"));
}
