/**
 * `jobs pause QUEUE --group NAME`, `jobs resume QUEUE --group NAME`.
 *
 * @module
 */
import { formatDuration } from "../../job/duration.ts";
import { GROUP_NAME_EXPECTED, isGroup } from "../../job/group.ts";
import { priorityIn } from "../../job/priority.ts";
import { isQueueName, QUEUE_NAME_EXPECTED } from "../../job/queue_name.ts";
import { pauseTarget } from "../../store/port/paused_queues.ts";
import { UsageError } from "../terminal/errors.ts";
import { print, printError, printJson } from "../terminal/output.ts";
import { recordAudit } from "./audit.ts";
import { report } from "./report.ts";
import { type ConfigFlags, withStore } from "./store.ts";

/**
 * Throws unless the text names a group.
 *
 * @throws {UsageError}
 */
export function checkGroupFlag(group: string): void {
  if (isGroup(group)) return;
  throw new UsageError(`Invalid --group ${JSON.stringify(group)}: expected ${GROUP_NAME_EXPECTED}`);
}

/** Pauses or resumes a group of a queue. @param forMs when the pause ends; undefined: never */
export async function changeGroupPause(
  verb: "pause" | "resume",
  flags: ConfigFlags & { readonly json: boolean },
  { queues, group, forMs }: {
    readonly queues: readonly string[];
    readonly group: string;
    readonly forMs?: number | undefined;
  },
): Promise<number> {
  const [queue, more] = queues;
  if (queue === undefined) throw new UsageError(`Missing argument: QUEUE. Usage: jobs ${verb} QUEUE --group NAME`);
  if (more !== undefined) throw new UsageError(`Unexpected argument "${more}": --group belongs to one queue`);
  if (!isQueueName(queue)) {
    throw new UsageError(`Invalid queue "${queue}": expected ${QUEUE_NAME_EXPECTED}`);
  }
  // The dashboard pauses priorities, too.
  if (priorityIn(group) === undefined) checkGroupFlag(group);
  return await withStore(flags, async (store) => {
    const [before] = (await store.admin.groups(queue, { group })).groups;
    await store.admin.pauseGroup(queue, group, verb === "resume" ? 0 : forMs);
    const named = `group "${group}" of queue "${queue}"`;
    const past = verb === "pause" ? "Paused" : "Resumed";
    const details = forMs === undefined ? {} : { details: `for ${formatDuration(forMs)}` };
    await report(
      () => flags.json ? printJson({ [past.toLowerCase()]: [queue], group }) : print(`${past} ${named}`),
      () => recordAudit(store, { action: verb, target: pauseTarget(queue, group), ...details }),
      () => verb === "resume" && !before?.paused && printError(`jobs: ${named} wasn't paused`),
    );
    return 0;
  }, { make: verb === "pause" ? "unnamed" : "never" });
}
