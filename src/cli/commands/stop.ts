/** `jobs stop WORKER | --here | --all`. @module */
import { commandWorkers, parseWorkers, WORKER_HELP } from "../shared/command_workers.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs stop WORKER …
       jobs stop --here | --all

Stops workers: they fetch no more jobs, wait for running ones until their
shutdown timeout (25 s by default), return unfinished jobs to their queues, and
exit.

${WORKER_HELP}

Examples
  jobs stop web1:4711
  jobs stop --all`;

/** Stops workers. */
export function run(argv: readonly string[]): Promise<number> {
  return commandWorkers("stop", parseWorkers("stop", argv));
}
