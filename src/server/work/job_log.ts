/**
 * A line about a job in the server's log: dropped where the job, or its class, wants fewer (`log_level`).
 *
 * @module
 */
import type { JobContext } from "../../handlers/context.ts";
import type { Log, LogFields, LogLevel } from "../../log/log.ts";

/**
 * Writes it, where both the log and the job want lines of its level.
 *
 * @param fields made only then
 */
export function logJob(
  job: Pick<JobContext, "logs">,
  log: Log,
  level: LogLevel,
  message: string,
  fields: () => LogFields,
): void {
  if (log.enabled(level) && job.logs(level)) log[level](message, fields());
}
