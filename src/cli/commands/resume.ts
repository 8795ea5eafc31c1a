/** `jobs resume [QUEUE …]`. @module */
import { COMMON_FLAGS, parseCommand } from "../terminal/args.ts";
import { changePauses } from "../shared/pause_queues.ts";

/** What `--help` prints. */
export const help = `
Usage: jobs resume QUEUE …
       jobs resume

Lets jobs be taken again from queues that were paused by name, or, without a name, ends the pause of all queues. A queue
that was paused by name too stays paused.`;

/** Resumes queues. */
export function run(argv: readonly string[]): Promise<number> {
  const { flags, args } = parseCommand("resume", argv, COMMON_FLAGS);
  return changePauses("resume", flags, args, (store, queue) => store.admin.pause(queue, 0));
}
