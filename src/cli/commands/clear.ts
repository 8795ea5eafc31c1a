/** `jobs clear QUEUE`. @module */
import { COMMON_FLAGS, parseCommand, UsageError } from "../terminal/args.ts";
import { confirmed, jobCount, missingQueue, YES } from "../terminal/confirm.ts";
import { editAll } from "../shared/edit_jobs.ts";
import { print, printError, printJson } from "../terminal/output.ts";
import { withStore } from "../shared/store.ts";

/** What `--help` prints. */
export const help = `
Usage: jobs clear QUEUE [--yes] [--json]

Deletes the jobs that wait in a queue, for good. It asks before; --yes says so beforehand, and has to where nobody can be
asked. Jobs that are pushed there meanwhile stay, and so does what is running, scheduled or to be retried. Ctrl-C stops it
between two batches of 1,000. An empty queue that is not paused and that no process takes is off the list of queues then.
Exit 1 when there is no such queue, or the answer is no.`;

const DELETING = { edit: "delete", doing: "Deleting", done: "deleted" } as const;

/** Clears a queue. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags, args: [queue, ...more] } = parseCommand("clear", argv, { ...COMMON_FLAGS, ...YES });
  if (queue === undefined || more.length > 0) throw new UsageError("One QUEUE is wanted: jobs clear QUEUE");
  return await withStore(flags, async (store) => {
    const queues = (await store.admin.stats()).queues;
    const place = { in: "queue", queue } as const;
    const missing = missingQueue(place, queues);
    if (missing !== undefined) {
      printError(`jobs: ${missing}`);
      return 1;
    }
    const { size } = queues.find(({ name }) => name === queue)!;
    if (size > 0 && !confirmed(`Delete ${jobCount(size)} from queue ${queue} for good`, flags)) {
      printError("jobs: nothing is deleted");
      return 1;
    }
    const cleared = await editAll(store, place, { name: "clear", ...DELETING }, size);
    const taken = (await store.workers.list()).some((process) => process.alive && process.queues.includes(queue));
    const forgotten = !taken && await store.admin.forgetQueue(queue);
    if (flags.json) printJson({ queue, cleared, forgotten });
    else print(`${jobCount(cleared)} deleted from queue ${queue}${forgotten ? ", which is forgotten" : ""}`);
    return 0;
  });
}
