/** `jobs clear QUEUE`. @module */
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { confirm, jobCount, queueNotFound, YES } from "../terminal/confirm.ts";
import { editSteps } from "../../store/ops/bulk_edit.ts";
import { runBulk } from "../shared/bulk_edit.ts";
import { print, printJson } from "../terminal/output.ts";
import { withStore } from "../shared/store.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs clear QUEUE [--yes] [--json]

Deletes the queued jobs of a queue permanently, after a question. Jobs that are
pushed meanwhile stay, and so do running, scheduled and retrying ones. An empty
queue that isn't paused and that no worker processes is removed from the list of
queues. Exit 1 if the queue doesn't exist.

  -y, --yes              don't ask before

Examples
  jobs clear newsletter
  jobs clear newsletter --yes`;

/** Clears a queue. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags, args } = parseCommand("clear", argv, { ...COMMON_FLAGS, ...YES }, "QUEUE");
  const queue = args[0]!;
  return await withStore(flags, async (store) => {
    const queues = (await store.admin.stats()).queues;
    const found = queues.find(({ name }) => name === queue);
    if (found === undefined) throw queueNotFound(queue, queues.map(({ name }) => name));
    const total = found.size;
    const place = { in: "queue", queue } as const;
    const suffix = ` in queue "${queue}"`;
    if (total > 0) confirm("Delete", `${jobCount(total, "queued")}${suffix}`, flags);
    const deleted = await runBulk(store, {
      name: "clear",
      doing: "Deleting",
      done: "Deleted",
      target: `queue ${queue}`,
      total,
      steps: editSteps(store, { place, edit: "delete", total }),
    });
    const isProcessed = (await store.workers.list()).some((worker) => worker.alive && worker.queues.includes(queue));
    const removed = !isProcessed && await store.admin.forgetQueue(queue);
    if (flags.json) printJson({ queue, deleted, removed });
    else print(`Deleted ${jobCount(deleted, "queued")}${suffix}${removed ? ", and removed the queue" : ""}`);
    return 0;
  });
}
