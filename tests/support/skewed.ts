/**
 * Runs `jobs` with a skewed clock: adds `JOBS_TEST_SKEW_MS` to the system time.
 *
 * @module
 */
const skewMs = Number(Deno.env.get("JOBS_TEST_SKEW_MS"));
const now = Date.now.bind(Date);
Date.now = () => now() + skewMs;

const { runCommandLine } = await import("../../src/cli/cli.ts");
Deno.exit(await runCommandLine(Deno.args));
