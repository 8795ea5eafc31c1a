/** `jobs kill JID… | --all SET`. @module */
import { runEdit } from "./edit_jobs.ts";

/** What `--help` prints. */
export const help = `
Usage: jobs kill JID …
       jobs kill --all scheduled|retry|queue:NAME

Moves jobs to dead: they do not run, and can be looked at and retried by hand. A running job is not touched.`;

/** Moves jobs to dead. */
export function run(argv: readonly string[]): Promise<number> {
  const all = ["scheduled", "retry", "queue:NAME"];
  return runEdit({ name: "kill", edit: "kill", all, doing: "Killing", done: "moved to dead" }, argv);
}
