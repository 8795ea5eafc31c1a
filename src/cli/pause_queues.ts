/**
 * What `jobs pause` and `jobs resume` share, and how pauses are shown.
 *
 * @module
 */
import { QUEUE_NAME } from "../config_parse.ts";
import type { QueueInfo } from "../store/admin.ts";
import { ALL_QUEUES } from "../store/pauses.ts";
import { COMMON_FLAGS, parseCommand, UsageError } from "./args.ts";
import { print, printJson } from "./output.ts";
import { withStore } from "./store.ts";

/** Pauses or resumes the queues named in `argv`, else all. */
export async function runPause(verb: "pause" | "resume", argv: readonly string[]): Promise<number> {
  const { flags, args: names } = parseCommand(verb, argv, COMMON_FLAGS);
  const wrong = names.find((name) => !QUEUE_NAME.test(name));
  if (wrong !== undefined) {
    throw new UsageError(`Queue "${wrong}" cannot be; wanted: a name of letters, digits and _ : . -`);
  }
  const queues = names.length > 0 ? names : [ALL_QUEUES];
  return await withStore(flags, async (store) => {
    for (const queue of queues) await store[verb](queue);
    if (flags.json) printJson({ [verb]: queues });
    else {
      for (const queue of queues) print(`${shownQueue(queue)} ${verb === "pause" ? "paused" : "resumed"}`);
    }
    return 0;
  });
}

/** The paused queues for people; undefined when there are none. */
export function pausedQueues(queues: readonly QueueInfo[]): string | undefined {
  const paused = queues.filter((queue) => queue.paused).map((queue) => shownQueue(queue.name));
  return paused.length === 0 ? undefined : paused.join(", ");
}

/** A queue's name for people. */
export function shownQueue(name: string): string {
  return name === ALL_QUEUES ? "all queues" : name;
}
