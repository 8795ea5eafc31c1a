/**
 * Jobs whose workers ended while they ran, in sentences. Pure.
 *
 * @module
 */
import type { Payload } from "../job/job.ts";

/** The worker's `maxRescues`, which the payload doesn't have. */
const DEFAULT_MAX_RESCUES = 3;

/** How often the workers of a job ended with it. */
export interface Crashes {
  /** Deaths that are its fault: at `maxRescues` it is dead. */
  readonly rescues: number;
  /** Deaths at which it ran next to others, and one for the first death of all. */
  readonly suspected: number;
}

/** Returns how often the workers of a job ended with it; undefined if none did since its last attempt that ended. */
export function crashesOf(payload: Pick<Payload, "rescues" | "suspected"> | undefined): Crashes | undefined {
  const { rescues = 0, suspected = 0 } = payload ?? {};
  return rescues > 0 || suspected > 0 ? { rescues, suspected } : undefined;
}

/** Returns a sentence without its end. */
export function crashText({ rescues, suspected }: Crashes): string {
  if (rescues > 0) {
    return `Its worker ended with it, ${rescues} of ${DEFAULT_MAX_RESCUES} times: at the last (maxRescues) it is dead`;
  }
  return suspected > 1
    ? `Its workers ended ${suspected} times while it and other jobs ran: it runs apart from other suspects until one is to blame`
    : `Its worker ended once while it had this job: if that happens again, it counts, and after ${DEFAULT_MAX_RESCUES} times (maxRescues) the job is dead`;
}
