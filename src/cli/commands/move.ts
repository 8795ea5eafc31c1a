/** `jobs move JID… --to QUEUE`. @module */
import { isQueueName, QUEUE_NAME, QUEUE_NAME_EXPECTED } from "../../job/queue_name.ts";
import { parseCommand } from "../terminal/args.ts";
import { UsageError } from "../terminal/errors.ts";
import { FILTER_HELP } from "../shared/filter_flags.ts";
import { actOnJobs, EDIT_FLAGS, EDIT_HELP, type EditCommand } from "../shared/edit_jobs.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs move JID … --to QUEUE
       jobs move --all queued|retrying|dead [FILTER …] --to QUEUE [OPTION …]

Moves jobs to the back of another queue, to run from there now. jobs migrate
moves everything to another store. Exit 1 if a job isn't found.

      --to QUEUE         the queue
${EDIT_HELP}

${FILTER_HELP}

Examples
  jobs move 1a1fd5150c39f4ae2f200001 --to low
  jobs move --all queued -q default --class Report --to low
  jobs move --all dead --error 'Timeout*' --to slow --dry-run`;

/** Moves jobs to another queue. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags, args } = parseCommand("move", argv, { ...EDIT_FLAGS, to: { takes: "text" } }, "[JID …]");
  const { to } = flags;
  if (to === undefined) {
    const isStore = args.some((arg) => /^(sqlite|redis\S*):/.test(arg));
    throw new UsageError(
      isStore
        ? "jobs migrate moves everything to another store"
        : "Missing option: --to QUEUE. Usage: jobs move JID … --to QUEUE",
    );
  }
  const isStore = /^(sqlite|redis\S*):/.test(to) && !QUEUE_NAME.test(to);
  if (isStore || !isQueueName(to)) {
    const cure = isStore ? "; jobs migrate moves everything to another store" : "";
    throw new UsageError(`Invalid --to "${to}": expected ${QUEUE_NAME_EXPECTED}${cure}`);
  }
  if (flags.all === "queued" && flags.queue === to) throw new UsageError(`--queue and --to are both "${to}"`);
  const command: EditCommand = {
    name: "move",
    states: ["queued", "retrying", "dead"],
    words: ["Move", "Moving", "Moved"],
    suffix: ` to queue "${to}"`,
    queue: to,
  };
  return await actOnJobs(command, flags, args);
}
