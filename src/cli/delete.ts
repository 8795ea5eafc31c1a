/** `jobs delete JID… | --all SET`. @module */
import { runEdit } from "./edit_jobs.ts";

/** What `--help` prints. */
export const help = `
Usage: jobs delete JID …
       jobs delete --all scheduled|retry|dead|queue:NAME

Deletes jobs, for good. A running job is not touched.`;

/** Deletes jobs. */
export function run(argv: readonly string[]): Promise<number> {
  const all = ["scheduled", "retry", "dead", "queue:NAME"];
  return runEdit({ name: "delete", edit: "delete", all, doing: "Deleting", done: "deleted" }, argv);
}
