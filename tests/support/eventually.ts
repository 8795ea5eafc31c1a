/**
 * The one way to wait for what happens where there is nothing to await: in another process, in a store.
 *
 * @module
 */

/** What ought to happen at once is waited for so long before the test fails. */
const TIMEOUT_MS = 60_000;
const PAUSE_MS = 10;

/**
 * Resolves when the condition holds; looks again and again.
 *
 * @param what said when it does not come about; asked then, where it is a function
 * @param patienceMs how long to look
 * @throws when it does not hold by then, or what the condition throws
 */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string | (() => string | Promise<string>) = "it is so",
  patienceMs = TIMEOUT_MS,
): Promise<void> {
  const end = performance.now() + patienceMs;
  while (!await condition()) {
    if (performance.now() > end) throw new Error(`Waited in vain: ${typeof what === "string" ? what : await what()}`);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}
