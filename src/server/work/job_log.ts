/**
 * Log lines of the worker about a job. Lines below the `log_level` of the job or its class are dropped.
 *
 * @module
 */
import { type RunningJob, traceFields } from "../../handlers/running_job.ts";
import type { Log, LogFields, LogLevel } from "../../log/log.ts";

/**
 * Writes a line unless the log or the job drops lines of its level.
 *
 * @param fields called only if the line is written
 */
export function logJob(
  job: Pick<RunningJob, "logs">,
  log: Log,
  level: LogLevel,
  message: string,
  fields: () => LogFields,
): void {
  if (log.enabled(level) && job.logs(level)) log[level](message, fields());
}

/**
 * Returns the fields of a line about a job. They are assigned one by one, because spreading three objects takes as long as
 * the rest of the line.
 */
export function jobFields(
  task: string,
  { class: name, jid, queue, attempt, trace }: RunningJob,
  elapsedMs?: number,
): LogFields {
  const fields: Record<string, unknown> = { task, class: name, jid, queue };
  if (attempt > 1) fields["attempt"] = attempt;
  if (trace !== undefined) Object.assign(fields, traceFields({ trace }));
  if (elapsedMs !== undefined) fields["elapsedMs"] = round(elapsedMs);
  return fields;
}

/** Rounds milliseconds: below 10 to hundredths. */
function round(ms: number): number {
  return ms < 10 ? Math.round(ms * 100) / 100 : Math.round(ms);
}
