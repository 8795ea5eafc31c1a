/**
 * The cron run that a job was enqueued for: the entry and the time.
 *
 * @module
 */
import type { Payload } from "./job.ts";

/** A cron run, as the payload of its job has it in the field `occurrence`. */
export interface Occurrence {
  /** The name of the entry. */
  readonly name: string;
  /** The time of the run: ISO 8601 in UTC. */
  readonly scheduledAt: string;
  /** How much later the job was enqueued, in milliseconds, by the store's clock. */
  readonly lateMs: number;
}

/** Returns the cron run that a job was enqueued for; undefined for any other job. */
export function occurrenceOf({ occurrence }: Payload): Occurrence | undefined {
  if (typeof occurrence !== "object" || occurrence === null) return undefined;
  const { name, scheduledAt, lateMs } = occurrence as Record<string, unknown>;
  return typeof name === "string" && typeof scheduledAt === "string" && typeof lateMs === "number"
    ? { name, scheduledAt, lateMs }
    : undefined;
}
