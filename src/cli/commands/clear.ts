/** `jobs clear QUEUE`. @module */
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { confirm, jobCount, YES } from "../terminal/confirm.ts";
import { clearQueue } from "../../operator/actions/jobs.ts";
import { queueNotFound } from "../../operator/actions/places.ts";
import { actInSteps } from "../shared/bulk_edit.ts";
import { print, printJson } from "../terminal/output.ts";
import { withStore } from "../shared/store.ts";

/** The text of `--help`. */
export const help = `
Usage: jobs clear QUEUE [--group NAME] [--yes] [--json]

Deletes the queued jobs of a queue permanently, after a question. Jobs that are
pushed meanwhile stay, and so do running, scheduled and retrying ones. An empty
queue that isn't paused and that no worker processes is removed from the list of
queues. Exit 1 if the queue doesn't exist.

      --group NAME       only the jobs of this group
  -y, --yes              don't ask before

Examples
  jobs clear newsletter
  jobs clear newsletter --yes
  jobs clear exports --group acme`;

/** Clears a queue. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags, args } = parseCommand("clear", argv, {
    ...COMMON_FLAGS,
    ...YES,
    group: { takes: "text" },
  }, "QUEUE");
  const queue = args[0]!;
  const { group } = flags;
  return await withStore(flags, async (store) => {
    const queues = (await store.admin.stats()).queues;
    const found = queues.find(({ name }) => name === queue);
    if (found === undefined) throw queueNotFound(queue, queues.map(({ name }) => name));
    const total = group === undefined
      ? found.size
      : (await store.admin.groups(queue, { group })).groups.find(({ name }) => name === group)?.size ?? 0;
    const suffix = `${group === undefined ? "" : ` of group "${group}"`} in queue "${queue}"`;
    if (total > 0) confirm("Delete", `${jobCount(total, "queued")}${suffix}`, flags);
    const words = { doing: "Deleting", done: "Deleted" };
    const input = { name: queue, ...(group !== undefined && { group }) };
    const { changed: deleted = 0, removed = false } = await actInSteps(store, clearQueue, input, words);
    if (flags.json) printJson({ queue, group, deleted, removed });
    else print(`Deleted ${jobCount(deleted, "queued")}${suffix}${removed ? ", and removed the queue" : ""}`);
    return 0;
  });
}
