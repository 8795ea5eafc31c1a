/** `jobs version`. @module */
import { compiledFrom, VERSION } from "../../version.ts";
import { COMMON_FLAGS, parseCommand, UsageError } from "../terminal/args.ts";
import { print, printJson } from "../terminal/output.ts";

/** What `--help` prints. */
export const help = `
Usage: jobs version [--json]

Prints the version of jobs, the commit it was compiled from, and the runtime in it.`;

/** Prints the version. */
export function run(argv: readonly string[]): Promise<number> {
  const { flags, args: [more] } = parseCommand("version", argv, COMMON_FLAGS);
  if (more !== undefined) throw new UsageError(`Superfluous: "${more}"; wanted: jobs version`);
  const commit = compiledFrom();
  const { deno, v8 } = Deno.version;
  const { target } = Deno.build;
  if (flags.json) printJson({ jobs: VERSION, commit, deno, v8, target });
  else print(`jobs ${VERSION} (${[commit, `deno ${deno}`, target].filter(Boolean).join(", ")})`);
  return Promise.resolve(0);
}
