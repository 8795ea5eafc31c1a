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

/** The counts of a payload. Any program may have written them. */
export interface GivenCrashes {
  readonly rescues?: unknown;
  readonly suspected?: unknown;
}

/** Returns how many workers ended while they had a job, since its last attempt that failed. */
export function deathsOf(payload: GivenCrashes | undefined): number {
  const counts: readonly unknown[] = [payload?.rescues, payload?.suspected];
  return counts.reduce<number>(
    (sum, count) => sum + (Number.isSafeInteger(count) ? Math.max(0, count as number) : 0),
    0,
  );
}

/** Returns `once, because its worker ended`, for an ended job; undefined if no worker of its last attempt ended. */
export function rescuedText(payload: GivenCrashes | undefined): string | undefined {
  const deaths = deathsOf(payload);
  if (deaths === 0) return undefined;
  return deaths === 1 ? "once, because its worker ended" : `${deaths} times, because its workers ended`;
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
