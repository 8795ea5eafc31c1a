/**
 * How tests start `jobs`: from its sources, or as the executable, so that the same tests can drive both.
 *
 * @module
 */

const ROOT = new URL("../../", import.meta.url).pathname;

const FROM_SOURCES: readonly string[] = [
  ...[Deno.execPath(), "run", "--allow-all", "--no-prompt", "--config", `${ROOT}deno.json`],
  `${ROOT}main.ts`,
];

let command = FROM_SOURCES;

/** The program and its first arguments. */
export function jobsCommand(): [program: string, ...args: string[]] {
  return [...command] as [string, ...string[]];
}

/** Compiles the executable, and lets the tests of this file start that; returns its path. */
export async function useExecutable(): Promise<string> {
  const path = `${ROOT}dist/test/jobs`;
  await compile(["--output", path]);
  command = [path];
  return path;
}

/**
 * Runs `make compile`, on a runtime that is there on any machine.
 *
 * @throws {Error} with what it printed, when it fails
 */
export async function compile(args: readonly string[]): Promise<void> {
  // A stand-in for the runtime goes with the pinned Deno only.
  const deno = await output("scripts/deno.sh", ["--pinned"]);
  const DENORT_BIN = await output("scripts/test-denort.sh", []);
  await output(deno, ["run", "--allow-all", "scripts/compile.ts", ...args], { DENORT_BIN });
}

async function output(program: string, args: string[], env: Record<string, string> = {}): Promise<string> {
  const path = program.startsWith("/") ? program : `${ROOT}${program}`;
  const { success, stdout, stderr } = await new Deno.Command(path, { args, cwd: ROOT, env }).output();
  const decoder = new TextDecoder();
  if (!success) throw new Error(`${program} ${args.join(" ")} failed:\n${decoder.decode(stderr)}`);
  return decoder.decode(stdout).trim();
}
