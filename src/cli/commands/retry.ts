/** `jobs retry JID… | --all STATE`. @module */
import { STATES_OF } from "../../operator/actions/job_ids.ts";
import { FILTER_HELP } from "../shared/filter_flags.ts";
import { EDIT_HELP, type EditCommand, runEdit } from "../shared/edit_jobs.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs retry JID …
       jobs retry --all scheduled|retrying|dead [FILTER …] [OPTION …]

Moves scheduled, retrying or dead jobs to their queues, to run now. The next
attempt doesn't count as one of the job's retries. Exit 1 if a job isn't found.

${EDIT_HELP}

${FILTER_HELP}

Examples
  jobs retry 1a1fd5150c39f4ae2f200001
  jobs retry --all dead --class Mail --error 'Timeout*' --dry-run
  jobs retry --all dead --newer-than 2h --yes`;

const RETRY: EditCommand = {
  name: "retry",
  states: STATES_OF.retry,
  words: ["Retry", "Retrying", "Retried"],
};

/** Runs jobs now. */
export function run(argv: readonly string[]): Promise<number> {
  return runEdit(RETRY, argv);
}
