/**
 * A job's occurrence: which time of which crontab entry it was enqueued for.
 *
 * @module
 */
import type { Payload } from "./job.ts";

/** One occurrence, as its job is told of it. It stands in the payload under `occurrence`. */
export interface Occurrence {
  /** Name of the entry. */
  readonly name: string;
  /** When it was to be: ISO 8601 in UTC. */
  readonly scheduledAt: string;
  /** How much later it was enqueued, in milliseconds by the store's clock. */
  readonly lateMs: number;
}

/** The occurrence that a job was enqueued for; undefined when it was none. */
export function occurrenceOf({ occurrence }: Payload): Occurrence | undefined {
  if (typeof occurrence !== "object" || occurrence === null) return undefined;
  const { name, scheduledAt, lateMs } = occurrence as Record<string, unknown>;
  return typeof name === "string" && typeof scheduledAt === "string" && typeof lateMs === "number"
    ? { name, scheduledAt, lateMs }
    : undefined;
}
