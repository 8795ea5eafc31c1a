/** `jobs clear QUEUE`. @module */
import { nearest } from "../nearest.ts";
import type { QueueInfo } from "../store/admin.ts";
import { number } from "../words/amounts.ts";
import { COMMON_FLAGS, parseCommand, UsageError } from "./args.ts";
import { editAll } from "./edit_jobs.ts";
import { ask, print, printJson, remark } from "./output.ts";
import { withStore } from "./store.ts";

/** What `--help` prints. */
export const help = `
Usage: jobs clear QUEUE [--yes] [--json]

Deletes the jobs that wait in a queue, for good. It asks before; --yes says so beforehand, and has to where nobody can be
asked. Jobs that are pushed there meanwhile stay, and so does what is running, scheduled or to be retried. Ctrl-C stops it
between two batches of 1,000. Exit 1 when there is no such queue, or the answer is no.`;

const DELETING = { edit: "delete", doing: "Deleting", done: "deleted" } as const;

/** Clears a queue. */
export async function run(argv: readonly string[]): Promise<number> {
  const { flags, args: [queue, ...more] } = parseCommand("clear", argv, { ...COMMON_FLAGS, yes: { takes: "switch" } });
  if (queue === undefined || more.length > 0) throw new UsageError("One QUEUE is wanted: jobs clear QUEUE");
  return await withStore(flags, async (store) => {
    const queues = await store.queues();
    const found = queues.find(({ name }) => name === queue);
    if (found === undefined) {
      remark(`jobs: ${noQueue(queue, queues)}`);
      return 1;
    }
    if (!flags.yes && found.size > 0 && !agreed(found)) {
      remark("jobs: nothing is deleted");
      return 1;
    }
    const place = { in: "queue", queue } as const;
    const cleared = await editAll(store, place, { name: "clear", ...DELETING }, found.size);
    if (flags.json) printJson({ queue, cleared });
    else print(`${number(cleared)} ${cleared === 1 ? "job" : "jobs"} deleted from queue ${queue}`);
    return 0;
  });
}

function noQueue(name: string, queues: readonly QueueInfo[]): string {
  const meant = nearest(name, queues.map((queue) => queue.name));
  return `no queue "${name}" here${meant === undefined ? "; jobs list queues" : `; did you mean "${meant}"?`}`;
}

/** @throws {UsageError} when nobody can be asked */
function agreed({ name, size }: QueueInfo): boolean {
  if (!Deno.stdin.isTerminal()) {
    throw new UsageError(`Clearing deletes ${number(size)} jobs for good; where nobody can be asked, say --yes`);
  }
  const answer = ask(`Delete ${number(size)} ${size === 1 ? "job" : "jobs"} from queue ${name} for good? [y/N] `);
  return /^y(es)?$/i.test(answer ?? "");
}
