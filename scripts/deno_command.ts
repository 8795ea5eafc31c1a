/**
 * How scripts, tests and benchmarks start Deno: with the project's configuration and lock file, and with cached packages only.
 *
 * After the set-up (`scripts/testrun/setup.ts`) nothing may depend on a registry. Without a lock file, Deno resolves all dependencies of a
 * package again, optional ones included, and downloads what the cache lacks, in the middle of a test. `deno lint` therefore refuses
 * other starts (`lint/starts.ts`).
 *
 * @module
 */
import { resolve } from "node:path";

const ROOT = resolve(import.meta.dirname!, "..");

/** The subcommands that load modules, so that they can be restricted to cached ones. */
const LOADING = ["run", "eval", "test", "bench", "serve"];

/** A program and its arguments. */
export type DenoCommand = [program: string, ...args: string[]];

/**
 * Returns the command that runs a subcommand of Deno with the project's configuration and lock file. Those that load no modules (`info`,
 * `doc`) find them by the working directory.
 */
export function denoCommand(subcommand: string, ...args: readonly string[]): DenoCommand {
  return configuredDeno(ROOT, subcommand, ...args);
}

/** Returns the same for a copy of the project: the folder `root` has its `deno.json` and `deno.lock`. */
export function configuredDeno(root: string, subcommand: string, ...args: readonly string[]): DenoCommand {
  const project = LOADING.includes(subcommand) ? ["--config", `${root}/deno.json`, "--lock", `${root}/deno.lock`] : [];
  return offlineDeno(subcommand, ...project, ...args);
}

/** Returns the command for a program outside of the project: of a user, or a copy of the library. */
export function offlineDeno(subcommand: string, ...args: readonly string[]): DenoCommand {
  const cached = LOADING.includes(subcommand) ? ["--cached-only"] : [];
  return [Deno.execPath(), subcommand, ...cached, ...args];
}

/** The output of a program that has ended. */
export interface Output {
  readonly code: number;
  readonly success: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command to its end. */
export async function outputOf(
  [program, ...args]: readonly [string, ...string[]],
  options: Omit<Deno.CommandOptions, "args"> = {},
): Promise<Output> {
  const { code, success, stdout, stderr } = await new Deno.Command(program, { stdin: "null", ...options, args })
    .output();
  const decoder = new TextDecoder();
  return { code, success, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}
