/** `jobs pause [QUEUE …]`. @module */
import { runPause } from "./pause_queues.ts";

/** What `--help` prints. */
export const help = `
Usage: jobs pause QUEUE …
       jobs pause

Pauses queues, or, without a name, all of them: no process takes jobs from them until jobs resume. Running jobs go on,
and jobs can be pushed. It holds within a second everywhere, and over restarts.`;

/** Pauses queues. */
export function run(argv: readonly string[]): Promise<number> {
  return runPause("pause", argv);
}
