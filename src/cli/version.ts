/** `jobs version`. @module */
import { VERSION } from "../version.ts";
import { COMMON_FLAGS, parseCommand } from "./args.ts";
import { print, printJson } from "./output.ts";

/** What `--help` prints. */
export const help = `
Usage: jobs version [--json]

Prints the version of jobs and of the runtime in it.`;

/** Prints the version. */
export function run(argv: readonly string[]): Promise<number> {
  const { flags } = parseCommand("version", argv, COMMON_FLAGS);
  const versions = { jobs: VERSION, deno: Deno.version.deno, v8: Deno.version.v8, target: Deno.build.target };
  if (flags.json) printJson(versions);
  else print(`jobs ${versions.jobs} (deno ${versions.deno}, ${versions.target})`);
  return Promise.resolve(0);
}
