/** `jobs quiet IDENTITY | --here | --all`. @module */
import { runAsk } from "./ask_process.ts";

/** What `--help` prints. */
export const help = `
Usage: jobs quiet IDENTITY …
       jobs quiet --here | --all

Lets processes finish what runs and take nothing more. The signal CONT to a process ends it again.
IDENTITY is as jobs ps shows it, its beginning, the process number, or the tag; --here are those on this machine.`;

/** Lets processes finish. */
export function run(argv: readonly string[]): Promise<number> {
  return runAsk("quiet", argv, "asked to be quiet");
}
