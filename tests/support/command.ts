/**
 * How tests start `jobs`: from its sources, from the bundle that `make test` makes of them, or as the executable, so that
 * the same tests can drive all three.
 *
 * @module
 */
import { dirname } from "node:path";
import { configuredDeno } from "../../scripts/deno_command.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

// The user who runs the tests may use jobs, and have another language, time zone and terminal.
const OTHERS = /^(JOBS_|OTEL_|WATCHDOG_|LC_|NOTIFY_SOCKET$|TRACE(PARENT|STATE)$|BAGGAGE$|(NO|FORCE)_COLOR$|LANG|TZ$)/;
for (const name of Object.keys(Deno.env.toObject())) if (OTHERS.test(name)) Deno.env.delete(name);
Deno.env.set("LANG", "C.UTF-8");

/** Returns the command that starts `main` with the `deno.json` next to it. */
export function startOf(main: string): readonly string[] {
  return configuredDeno(dirname(main), "run", "--allow-all", "--no-prompt", main);
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

/** Lets the tests of this file start the executable; returns its path. */
export async function useExecutable(): Promise<string> {
  const path = await compileOnce();
  useCommand([path]);
  return path;
}

const EXECUTABLES = `${ROOT}dist/test/executables`;
/** An executable of other sources is kept this long after its last use: another run may be using it. */
const KEPT_MS = 3_600_000;

/** Compiles the executable, unless it has been compiled from the same sources, by this process or any other. Returns its path. */
export async function compileOnce(): Promise<string> {
  await Deno.mkdir(EXECUTABLES, { recursive: true });
  const runtime = await runHere("scripts/test-denort.sh", []);
  using lock = await Deno.open(`${EXECUTABLES}/lock`, { create: true, write: true });
  await lock.lock(true);
  const folder = `${EXECUTABLES}/${await hashOfSources(runtime)}`;
  const path = `${folder}/jobs`;
  const exists = await Deno.stat(path).then(() => true, () => false);
  if (!exists) {
    const made = `${folder}.new`;
    const compile = ["run", "--allow-all", "scripts/compile.ts", "--any-runtime"];
    await runHere(await pinnedDeno(), [...compile, "--output", `${made}/jobs`], { DENORT_BIN: runtime });
    await Deno.rename(made, folder);
  }
  await Deno.utime(folder, new Date(), new Date());
  await removeOld(folder);
  return path;
}

/** Identifies what an executable is made of, its commit included. */
async function hashOfSources(runtime: string): Promise<string> {
  const { mtime, size } = await Deno.stat(runtime);
  const commit = await runHere("git", ["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]);
  const list = await runHere("sh", [
    "-c",
    "find main.ts src scripts deno.json deno.lock -type f ! -name '*_test.ts' -exec sha256sum {} + | sort -k 2",
  ]);
  const text = [runtime, size, mtime?.getTime(), commit, list].join("\n");
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return digest.toHex().slice(0, 16);
}

async function removeOld(current: string): Promise<void> {
  for await (const { name, isDirectory } of Deno.readDir(EXECUTABLES)) {
    const folder = `${EXECUTABLES}/${name}`;
    if (!isDirectory || folder === current) continue;
    const { mtime } = await Deno.stat(folder);
    if (Date.now() - mtime!.getTime() > KEPT_MS) await Deno.remove(folder, { recursive: true });
  }
}

/** The Deno to compile with in tests: the stand-in for its runtime goes with no other. */
export function pinnedDeno(): Promise<string> {
  return runHere("scripts/deno.sh", ["--pinned"]);
}

/**
 * Runs a program in the project's folder. Returns its output.
 *
 * @throws {Error} with its output, if it fails
 */
export async function runHere(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const path = program.includes("/") && !program.startsWith("/") ? `${ROOT}${program}` : program;
  const { success, stdout, stderr } = await new Deno.Command(path, {
    args: [...args],
    cwd: ROOT,
    env: { ...env },
  }).output();
  const decoder = new TextDecoder();
  if (!success) throw new Error(`${program} ${args.join(" ")} failed:\n${decoder.decode(stderr)}`);
  return decoder.decode(stdout).trim();
}
