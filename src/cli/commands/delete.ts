/** `jobs delete JID… | --all STATE`. @module */
import { STATES_OF } from "../../operator/actions/job_ids.ts";
import { FILTER_HELP } from "../shared/filter_flags.ts";
import { EDIT_HELP, type EditCommand, runEdit } from "../shared/edit_jobs.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs delete JID …
       jobs delete --all queued|scheduled|retrying|dead [FILTER …]

Deletes jobs permanently, without a record. Doesn't reach running jobs: jobs
cancel aborts those. Exit 1 if a job isn't found.

${EDIT_HELP}

${FILTER_HELP}

Examples
  jobs delete 1a1fd5150c39f4ae2f200001
  jobs delete --all dead --class ImportFile --older-than 30d
  jobs delete --all scheduled --tag newsletter --dry-run`;

const DELETE: EditCommand = {
  name: "delete",
  states: STATES_OF.delete,
  words: ["Delete", "Deleting", "Deleted"],
};

/** Deletes jobs. */
export function run(argv: readonly string[]): Promise<number> {
  return runEdit(DELETE, argv);
}
