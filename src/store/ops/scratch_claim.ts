/**
 * The claim of a bench on its place in a server: it is renewed while the bench runs. A later bench clears the place of one whose claim
 * has expired, because it was killed.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";

/** How long a claim lasts without a renewal. */
export const CLAIM_MS = 60_000;

/** Renews a claim until it is disposed. After a failure, the next renewal follows as usual. */
export function keepClaim(renewOnce: () => Promise<unknown>, clock: Clock): AsyncDisposable {
  const done = new AbortController();
  const { signal } = done;
  const renewing = (async () => {
    for (;;) {
      await clock.sleep(CLAIM_MS / 3, signal);
      if (signal.aborted) return;
      await renewOnce().catch(() => {});
    }
  })();
  return {
    async [Symbol.asyncDispose]() {
      done.abort();
      await renewing;
    },
  };
}
