/** `jobs kill JID… | --all SET`. @module */
import { runEdit } from "../shared/edit_jobs.ts";

/** What `--help` prints. */
export const help = `
Usage: jobs kill JID …
       jobs kill --all scheduled|retry|queue:NAME [--yes]

Moves jobs to dead: they do not run, and can be looked at and retried by hand. Dead keeps the latest 10,000
("retention.deadJobs"); the others are gone. A running job is not touched. --all asks before, and says how many would be
gone; --yes says so beforehand, and has to where nobody can be asked.`;

/** Moves jobs to dead. */
export function run(argv: readonly string[]): Promise<number> {
  const all = ["scheduled", "retry", "queue:NAME"];
  return runEdit({ name: "kill", edit: "kill", all, asks: "Kill", doing: "Killing", done: "moved to dead" }, argv);
}
