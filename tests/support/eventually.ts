/**
 * Waits for a condition that no promise reports: in another process, in a store.
 *
 * @module
 */

/** A test fails if an expected event has not happened after this time. */
const TIMEOUT_MS = 60_000;
/** The pause between two looks grows from the first to the second: a long wait costs the other tests little. */
const MIN_PAUSE_MS = 10;
const MAX_PAUSE_MS = 50;

/**
 * Polls a condition, and resolves when it holds.
 *
 * @param what the message of the error, or a function that returns it
 * @param patienceMs how long to look
 * @throws {Error} if the condition doesn't hold in time, or the error of the condition
 */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string | (() => string | Promise<string>) = "it is so",
  patienceMs = TIMEOUT_MS,
): Promise<void> {
  const began = performance.now();
  while (!await condition()) {
    const waitedMs = performance.now() - began;
    if (waitedMs > patienceMs) {
      throw new Error(`Timed out waiting: ${typeof what === "string" ? what : await what()}`);
    }
    const pauseMs = Math.min(MAX_PAUSE_MS, MIN_PAUSE_MS + waitedMs / 50);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
