/**
 * For what happens outside this process, where there is nothing to await.
 *
 * @module
 */

const TRIES = 1_000;

/**
 * Resolves when the condition holds.
 *
 * @throws when it does not within a long time
 */
export async function until(condition: () => boolean | Promise<boolean>, what = "It"): Promise<void> {
  for (let i = 0; i < TRIES; i++) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`${what} did not come about`);
}
