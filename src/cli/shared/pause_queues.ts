/**
 * What `jobs pause` and `jobs resume` share, and how pauses are shown.
 *
 * @module
 */
import { formatDuration } from "../../job/duration.ts";
import { QUEUE_NAME } from "../../job/queue_name.ts";
import { closestWord } from "../../text/suggest.ts";
import type { QueueInfo } from "../../store/admin/admin.ts";
import { ALL_QUEUES, pauseTarget } from "../../store/port/paused_queues.ts";
import { limitUse } from "../../text/limits.ts";
import { UsageError } from "../terminal/args.ts";
import { recordAudit } from "./audit.ts";
import type { Column } from "../terminal/table.ts";
import { print, printError, printJson } from "../terminal/output.ts";
import { type ConfigFlags, withStore } from "./store.ts";
import type { Store } from "../../store/admin/store.ts";
import type { WorkerInfo } from "../../store/port/workers.ts";

/** Does it to the queues named, else to all. */
export async function changePauses(
  verb: "pause" | "resume",
  flags: ConfigFlags & { readonly json: boolean },
  names: readonly string[],
  change: (store: Store, queue: string) => Promise<void>,
): Promise<number> {
  const wrong = names.find((name) => !QUEUE_NAME.test(name));
  if (wrong !== undefined) {
    throw new UsageError(`Queue "${wrong}" cannot be; wanted: a name of letters, digits and _ : . -`);
  }
  const queues = names.length > 0 ? names : [ALL_QUEUES];
  return await withStore(flags, async (store) => {
    const [{ queues: before }, processes] = await Promise.all([
      store.admin.stats(),
      verb === "pause" ? store.workers.list() : [],
    ]);
    for (const queue of queues) {
      await change(store, queue);
      await recordAudit(store, { action: verb, target: pauseTarget(queue) });
      const remarked = verb === "pause" ? unknownQueue(queue, before, processes) : notPaused(queue, before);
      if (remarked !== undefined) printError(`jobs: ${remarked}`);
    }
    if (flags.json) printJson({ [verb]: queues });
    else {
      for (const queue of queues) print(`${shownQueue(queue)} ${verb === "pause" ? "paused" : "resumed"}`);
    }
    return 0;
  }, { make: verb === "pause" ? "unnamed" : "never" });
}

/** A name may be mistyped; one that is to come can be paused all the same. */
function unknownQueue(
  queue: string,
  queues: readonly QueueInfo[],
  processes: readonly WorkerInfo[],
): string | undefined {
  const taken = processes.filter(({ alive }) => alive).flatMap((process) => process.queues);
  const known = [...queues.map(({ name }) => name), ...taken];
  if (queue === ALL_QUEUES || known.includes(queue)) return undefined;
  const meant = closestWord(queue, known.filter((name) => name !== ALL_QUEUES));
  return `queue ${queue} has no jobs, and no process takes it${meant ? `; did you mean "${meant}"?` : " yet"}`;
}

/** Resuming what is not paused is well, and most likely not what was meant. */
function notPaused(queue: string, queues: readonly QueueInfo[]): string | undefined {
  const paused = queues.filter((info) => info.paused).map(({ name }) => name);
  if (paused.includes(queue)) return undefined;
  const others = paused.length === 0 ? "" : `; paused: ${paused.map(shownQueue).join(", ")}`;
  return queue === ALL_QUEUES
    ? `all queues together were not paused${others}`
    : `queue ${queue} was not paused${others}`;
}

/** The paused queues for people; undefined when there are none. */
export function pausedQueues(queues: readonly QueueInfo[]): string | undefined {
  const paused = queues.filter((queue) => queue.paused).map((queue) =>
    shownQueue(queue.name) +
    (queue.pausedForMs === undefined ? "" : ` (for ${formatDuration(queue.pausedForMs)})`)
  );
  return paused.length === 0 ? undefined : paused.join(", ");
}

/** The columns of {@linkcode queueRows}. */
export const QUEUE_COLUMNS: readonly Column[] = ["queue", "size", "latency", {
  heading: "",
  colours: { paused: "yellow" },
}];

/** Queues as rows of a table: name, size, latency, and whether they are paused or limited, and how far. */
export function queueRows(queues: readonly QueueInfo[]): (string | number)[][] {
  return queues.map(({ name, size, latencyMs, paused, pausedForMs, limit }) => [
    shownQueue(name),
    size,
    formatDuration(latencyMs),
    [
      ...(paused ? [pausedForMs === undefined ? "paused" : `paused for ${formatDuration(pausedForMs)}`] : []),
      ...(limit ? [`limited: ${limitUse(limit)}`] : []),
    ].join(", "),
  ]);
}

/** A queue's name for people. */
export function shownQueue(name: string): string {
  return name === ALL_QUEUES ? "all queues" : name;
}
