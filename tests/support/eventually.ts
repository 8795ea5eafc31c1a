/**
 * For what happens outside this process, where there is nothing to await.
 *
 * @module
 */

const TRIES = 1_000;

/**
 * Resolves when the condition holds.
 *
 * @param tries how often to look, every 10 ms
 * @throws when it does not hold by then
 */
export async function until(condition: () => boolean | Promise<boolean>, what = "It", tries = TRIES): Promise<void> {
  for (let i = 0; i < tries; i++) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`${what} did not come about`);
}
