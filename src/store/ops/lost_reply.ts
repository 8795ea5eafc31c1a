/**
 * Repeats calls whose reply was lost, for stores on a server.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";

export interface RetryOptions {
  readonly clock: Clock;
  /** Repeats for this time at most. */
  readonly waitMs: number;
  /** Returns whether a call that failed may have taken effect. */
  readonly mayHaveRun: (error: unknown) => boolean;
}

/**
 * Repeats a call while its reply is lost. For calls that must not be resent unchanged: `attempt` builds its arguments again, from the
 * state of the lease book by then, so that nothing happens twice.
 */
export async function retryLostReply<T>(
  { clock, waitMs, mayHaveRun }: RetryOptions,
  attempt: () => Promise<T>,
): Promise<T> {
  const end = clock.monotonic() + waitMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!mayHaveRun(error) || clock.monotonic() >= end) throw error;
    }
  }
}
