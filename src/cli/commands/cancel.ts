/** `jobs cancel JID… | --all STATE`. @module */
import { STATES_OF } from "../../operator/actions/job_ids.ts";
import { FILTER_HELP } from "../shared/filter_flags.ts";
import { EDIT_HELP, type EditCommand, runEdit } from "../shared/edit_jobs.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs cancel JID …
       jobs cancel --all queued|scheduled|retrying|running [FILTER …]

Cancels jobs. A waiting job is removed. A running job's signal aborts, wherever
it runs, and an isolated job that doesn't end is killed. A cancelled job isn't
retried, and its record says so. Exit 1 if a job isn't found or has finished.

${EDIT_HELP}

${FILTER_HELP}

Examples
  jobs cancel 1a1fd5150c39f4ae2f200001
  jobs cancel --all running --class ImportFile --older-than 1h
  jobs cancel --all queued -q newsletter --yes`;

const CANCEL: EditCommand = {
  name: "cancel",
  states: STATES_OF.cancel,
  words: ["Cancel", "Cancelling", "Cancelled"],
};

/** Cancels jobs. */
export function run(argv: readonly string[]): Promise<number> {
  return runEdit(CANCEL, argv);
}
