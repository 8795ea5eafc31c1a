/** `jobs version`. @module */
import { compiledFrom, VERSION } from "../../version.ts";
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { print, printJson } from "../terminal/output.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs version [--json]

Prints the version of jobs, the commit it was compiled from, and its runtime.

Examples
  jobs version
  jobs version --json`;

/** Prints the version. */
export function run(argv: readonly string[]): Promise<number> {
  const { flags } = parseCommand("version", argv, COMMON_FLAGS, "");
  const commit = compiledFrom();
  const { deno, v8 } = Deno.version;
  const { target } = Deno.build;
  if (flags.json) printJson({ jobs: VERSION, commit, deno, v8, target });
  else print(`jobs ${VERSION} (${[commit, `deno ${deno}`, target].filter(Boolean).join(", ")})`);
  return Promise.resolve(0);
}
