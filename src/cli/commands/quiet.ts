/** `jobs quiet WORKER | --here | --all`. @module */
import { commandWorkers, parseWorkers, WORKER_HELP } from "../shared/command_workers.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs quiet WORKER …
       jobs quiet --here | --all

Stops workers from fetching jobs. Running jobs finish. jobs resume --worker
undoes this.

${WORKER_HELP}

Examples
  jobs quiet web1:4711
  jobs quiet --here`;

/** Quiets workers. */
export function run(argv: readonly string[]): Promise<number> {
  return commandWorkers("quiet", parseWorkers("quiet", argv));
}
