/**
 * Runs `jobs` with a clock that is off: `JOBS_TEST_SKEW_MS` is added to what the system says.
 *
 * @module
 */
const skewMs = Number(Deno.env.get("JOBS_TEST_SKEW_MS"));
const now = Date.now.bind(Date);
Date.now = () => now() + skewMs;

const { runCommandLine } = await import("../../src/cli/cli.ts");
Deno.exit(await runCommandLine(Deno.args));
