/**
 * Shared part of `jobs pause` and `jobs resume`.
 *
 * @module
 */
import { formatDuration } from "../../job/duration.ts";
import type { Store } from "../../store/admin/store.ts";
import type { WorkerInfo } from "../../store/port/workers.ts";
import { isQueueName, QUEUE_NAME_EXPECTED } from "../../job/queue_name.ts";
import { closestWord } from "../../job/suggest.ts";
import type { QueueInfo } from "../../store/admin/admin.ts";
import { ALL_QUEUES, pauseTarget } from "../../store/port/paused_queues.ts";
import { recordAudit } from "./audit.ts";
import { UsageError } from "../terminal/errors.ts";
import { print, printError, printJson } from "../terminal/output.ts";
import { report } from "./report.ts";
import { shownQueue } from "./queue_rows.ts";
import { type ConfigFlags, withStore } from "./store.ts";

/** Pauses or resumes the named queues, or all queues if none is named. @param forMs when the pause ends; undefined: never */
export async function changePauses(
  verb: "pause" | "resume",
  flags: ConfigFlags & { readonly json: boolean },
  names: readonly string[],
  change: (store: Store, queue: string) => Promise<void>,
  forMs?: number,
): Promise<number> {
  const invalid = names.find((name) => !isQueueName(name));
  if (invalid !== undefined) {
    throw new UsageError(`Invalid queue "${invalid}": expected ${QUEUE_NAME_EXPECTED}`);
  }
  const queues = names.length > 0 ? names : [ALL_QUEUES];
  return await withStore(flags, async (store) => {
    const [{ queues: before }, workers] = await Promise.all([store.admin.stats(), store.workers.list()]);
    const past = verb === "pause" ? "Paused" : "Resumed";
    const details = forMs === undefined ? {} : { details: `for ${formatDuration(forMs)}` };
    const records: (() => unknown)[] = [];
    for (const queue of queues) {
      await change(store, queue);
      const remark = verb === "pause" ? unknownQueue(queue, before, workers) : notPaused(queue, before);
      records.push(
        () => recordAudit(store, { action: verb, target: pauseTarget(queue), ...details }),
        () => remark !== undefined && printError(`jobs: ${remark}`),
      );
    }
    const lines = queues.map((queue) => `${past} ${queueText(queue)}`);
    await report(
      () => flags.json ? printJson({ [past.toLowerCase()]: queues }) : print(lines.join("\n")),
      ...records,
      () => verb === "resume" && remarkQuiet(workers),
    );
    return 0;
  }, { make: verb === "pause" ? "unnamed" : "never" });
}

/** Names what a resume of queues leaves as it is. */
function remarkQuiet(workers: readonly WorkerInfo[]): void {
  const quiet = workers.filter((worker) => worker.alive && worker.quiet && !worker.stopping).length;
  if (quiet === 0) return;
  const subject = quiet === 1 ? "1 worker is quiet and fetches" : `${quiet} workers are quiet and fetch`;
  printError(`jobs: ${subject} nothing; jobs resume --all resumes all workers`);
}

function queueText(queue: string): string {
  return queue === ALL_QUEUES ? "all queues" : `queue "${queue}"`;
}

/** Remarks on a queue that doesn't exist yet: pausing it is valid, but the name may be misspelled. */
function unknownQueue(
  queue: string,
  queues: readonly QueueInfo[],
  workers: readonly WorkerInfo[],
): string | undefined {
  const known = [
    ...queues.map(({ name }) => name),
    ...workers.filter(({ alive }) => alive).flatMap(({ queues }) => queues),
  ];
  if (queue === ALL_QUEUES || known.includes(queue)) return undefined;
  const meant = closestWord(queue, known.filter((name) => name !== ALL_QUEUES));
  return `queue "${queue}" is new: it has no jobs and no worker yet` +
    (meant ? `; did you mean "${meant}"? (jobs resume ${queue} undoes this)` : "");
}

function notPaused(queue: string, queues: readonly QueueInfo[]): string | undefined {
  const paused = queues.filter((info) => info.paused).map(({ name }) => name);
  if (paused.includes(queue)) {
    const named = queue === ALL_QUEUES ? paused.filter((name) => name !== ALL_QUEUES) : [];
    return named.length === 0 ? undefined : `still paused by name: ${named.map(shownQueue).join(", ")}`;
  }
  const others = paused.length === 0 ? "" : `; paused: ${paused.map(shownQueue).join(", ")}`;
  return `${queueText(queue)} ${queue === ALL_QUEUES ? "weren't paused as a whole" : "wasn't paused"}${others}`;
}
