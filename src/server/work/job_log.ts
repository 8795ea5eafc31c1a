/**
 * Lines about a job in the worker's log. The job's `log_level`, or its class's, drops those below it.
 *
 * @module
 */
import type { RunningJob } from "../../handlers/running_job.ts";
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
