/** `jobs delete JID… | --all SET`. @module */
import { runEdit } from "../shared/edit_jobs.ts";

/** What `--help` prints. */
export const help = `
Usage: jobs delete JID …
       jobs delete --all scheduled|retry|dead|queue:NAME [--yes]

Deletes jobs, for good. A running job is not touched. --all asks before; --yes says so beforehand, and has to where nobody
can be asked.`;

/** Deletes jobs. */
export function run(argv: readonly string[]): Promise<number> {
  const all = ["scheduled", "retry", "dead", "queue:NAME"];
  return runEdit({ name: "delete", edit: "delete", all, asks: "Delete", doing: "Deleting", done: "deleted" }, argv);
}
