/** `jobs kill JID… | --all STATE`. @module */
import { STATES_OF } from "../../operator/actions/job_ids.ts";
import { FILTER_HELP } from "../shared/filter_flags.ts";
import { EDIT_HELP, type EditCommand, runEdit } from "../shared/edit_jobs.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs kill JID …
       jobs kill --all queued|scheduled|retrying [FILTER …] [OPTION …]

Moves waiting jobs to the dead set, where they stay until they are retried or
deleted. Doesn't reach running jobs: jobs cancel aborts those. Exit 1 if a job
isn't found.

${EDIT_HELP}

${FILTER_HELP}

Examples
  jobs kill 1a1fd5150c39f4ae2f200001
  jobs kill --all retrying --class ImportFile
  jobs kill --all queued -q low --older-than 1d --dry-run`;

const KILL: EditCommand = {
  name: "kill",
  states: STATES_OF.kill,
  words: ["Kill", "Killing", "Killed"],
};

/** Moves jobs to the dead set. */
export function run(argv: readonly string[]): Promise<number> {
  return runEdit(KILL, argv);
}
