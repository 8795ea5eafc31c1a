/** `jobs move JID… --to QUEUE`. @module */
import { isQueueName, isTargetQueue, QUEUE_NAME_EXPECTED, TARGET_QUEUE_EXPECTED } from "../../job/queue_name.ts";
import { hidePassword } from "../../store/port/hide_password.ts";
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
    const isStore = args.some((arg) => isQueueName(arg) && !isTargetQueue(arg));
    throw new UsageError(
      isStore
        ? "jobs migrate moves everything to another store"
        : "Missing option: --to QUEUE. Usage: jobs move JID … --to QUEUE",
    );
  }
  if (!isTargetQueue(to)) {
    const expected = isQueueName(to) ? TARGET_QUEUE_EXPECTED : QUEUE_NAME_EXPECTED;
    throw new UsageError(`Invalid --to "${hidePassword(to)}": expected ${expected}`);
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
