/** `jobs retry JID… | --all SET`. @module */
import { runEdit } from "../shared/edit_jobs.ts";

/** What `--help` prints. */
export const help = `
Usage: jobs retry JID …
       jobs retry --all scheduled|retry|dead

Puts scheduled, failed or dead jobs into their queues, now. The try that follows is not counted as one of the job's
retries.`;

/** Runs jobs now. */
export function run(argv: readonly string[]): Promise<number> {
  const all = ["scheduled", "retry", "dead"];
  return runEdit({ name: "retry", edit: "requeue", all, doing: "Retrying", done: "put into queue" }, argv);
}
