/** `jobs stop IDENTITY | --here | --all`. @module */
import { parseAsk, runAsk } from "../shared/ask_worker.ts";

/** What `--help` prints. */
export const help = `
Usage: jobs stop IDENTITY …
       jobs stop --here | --all

Stops processes: they take nothing more, wait for running jobs until their deadline (25 s, see jobs run --help), give
unfinished ones back to their queues, and exit.
IDENTITY is as jobs ps shows it, its beginning, the process number, or the tag; --here are those on this machine.`;

/** Stops processes. */
export function run(argv: readonly string[]): Promise<number> {
  return runAsk("stop", parseAsk("stop", argv), "asked to stop");
}
