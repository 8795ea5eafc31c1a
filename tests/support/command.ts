/**
 * How tests start `jobs`: from its sources, from the bundle that `make test` makes of them, or as the executable, so that
 * the same tests can drive all three.
 *
 * @module
 */

const ROOT = new URL("../../", import.meta.url).pathname;

// Whoever runs the tests may use what is tested, and have another language, clock and terminal.
const OTHERS = /^(JOBS_|OTEL_|WATCHDOG_|LC_|NOTIFY_SOCKET$|TRACE(PARENT|STATE)$|BAGGAGE$|(NO|FORCE)_COLOR$|LANG|TZ$)/;
for (const name of Object.keys(Deno.env.toObject())) if (OTHERS.test(name)) Deno.env.delete(name);
Deno.env.set("LANG", "C.UTF-8");

/** Starts `main` with the `deno.json` beside it. */
function startOf(main: string): readonly string[] {
  const config = main.replace(/[^/]*$/, "deno.json");
  return [Deno.execPath(), "run", "--allow-all", "--no-prompt", "--config", config, main];
}

/** Starts `jobs` from its sources, also where the other tests start the bundle. */
export const FROM_SOURCES: readonly string[] = startOf(`${ROOT}main.ts`);

// scripts/testrun/ names its bundle's first module.
let command = startOf(Deno.env.get("TEST_JOBS_MAIN") ?? `${ROOT}main.ts`);

/** The program and its first arguments. */
export function jobsCommand(): [program: string, ...args: string[]] {
  return [...command] as [string, ...string[]];
}

/** Lets the tests of this file start `jobs` by another command. */
export function useCommand(other: readonly string[]): void {
  command = other;
}

/** Compiles the executable, and lets the tests of this file start that; returns its path. */
export async function useExecutable(): Promise<string> {
  const path = `${ROOT}dist/test/jobs`;
  await compile(["--output", path]);
  useCommand([path]);
  return path;
}

/**
 * Runs `make compile`, on a runtime that is there on any machine.
 *
 * @throws {Error} with what it printed, when it fails
 */
export async function compile(args: readonly string[]): Promise<void> {
  const DENORT_BIN = await runHere("scripts/test-denort.sh", []);
  await runHere(await pinnedDeno(), ["run", "--allow-all", "scripts/compile.ts", ...args], { DENORT_BIN });
}

/** The Deno to compile with in tests: the stand-in for its runtime goes with no other. */
export function pinnedDeno(): Promise<string> {
  return runHere("scripts/deno.sh", ["--pinned"]);
}

/**
 * Runs a program in the project's folder; returns what it printed.
 *
 * @throws {Error} with what it said, when it fails
 */
export async function runHere(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const path = program.includes("/") && !program.startsWith("/") ? `${ROOT}${program}` : program;
  const { success, stdout, stderr } = await new Deno.Command(path, { args: [...args], cwd: ROOT, env }).output();
  const decoder = new TextDecoder();
  if (!success) throw new Error(`${program} ${args.join(" ")} failed:\n${decoder.decode(stderr)}`);
  return decoder.decode(stdout).trim();
}
