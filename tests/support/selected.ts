/**
 * Imports some tests of another file, to run them in another environment.
 *
 * @module
 */

/**
 * Registers the tests with these titles of a test file, and no others.
 *
 * @param load imports the file
 * @throws {Error} if a title is not in the file
 */
export async function importTests(titles: readonly string[], load: () => Promise<unknown>): Promise<void> {
  const register = Deno.test;
  const missing = new Set(titles);
  const select = (title: string, run: () => Promise<void>) => {
    if (missing.delete(title)) register(title, run);
  };
  const runner = Deno as { test: unknown };
  runner.test = select;
  try {
    await load();
  } finally {
    runner.test = register;
  }
  if (missing.size > 0) throw new Error(`Missing tests: ${[...missing].join("; ")}`);
}
