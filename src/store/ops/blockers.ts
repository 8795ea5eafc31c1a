/**
 * What stands between a job and a processor: the one answer that whoever pushes it, looks at it, or asks what is wrong
 * with the store is given, each in words of its own. Pure.
 *
 * @module
 */
import type { QueueInfo } from "../admin/admin.ts";
import type { LimitInfo } from "../port/limits.ts";
import { ALL_QUEUES } from "../port/paused_queues.ts";
import type { WorkerInfo } from "../port/workers.ts";

/**
 * One thing in the way:
 *
 * - `all-paused`, `paused`: nothing is taken, from any queue or from this one.
 * - `limited`: as many of the queue's jobs run, or have started, as its limit allows.
 * - `no-process`: none is alive. `no-taker`: of those alive none takes this queue.
 * - `quiet`: those that take it take nothing new. `busy`: all their processors have work.
 * - `no-handler`: it is taken, and waits: none of those that take it has a handler for its class. One that does not tell
 *   its classes (Sidekiq's, or one with thousands) may have.
 */
export type Blocker =
  | { readonly is: "all-paused" | "paused"; readonly forMs: number | undefined }
  | { readonly is: "limited"; readonly limit: LimitInfo }
  | { readonly is: "no-process" | "no-taker" | "quiet" | "busy" | "no-handler" };

/** What is to be known of the surroundings. */
export interface Around {
  readonly processes: readonly Pick<WorkerInfo, "alive" | "quiet" | "busy" | "concurrency" | "queues" | "classes">[];
  readonly queues: readonly Pick<QueueInfo, "name" | "paused" | "pausedForMs" | "limit">[];
}

/**
 * What stands in the way of a job, the nearest first; nothing when its turn comes.
 *
 * @param job its class absent: unknown, or any
 */
export function blockersOf(
  job: { readonly queue: string; readonly class?: string | undefined },
  { processes, queues }: Around,
): Blocker[] {
  const obstacles: Blocker[] = [];
  for (const [name, is] of [[ALL_QUEUES, "all-paused"], [job.queue, "paused"]] as const) {
    const found = queues.find((queue) => queue.name === name);
    if (found?.paused) obstacles.push({ is, forMs: found.pausedForMs });
  }
  const limit = queues.find((queue) => queue.name === job.queue)?.limit;
  if (limit && limit.freeInMs !== 0) obstacles.push({ is: "limited", limit });
  const live = processes.filter((process) => process.alive);
  const takers = live.filter((process) => process.queues.includes(job.queue));
  const awake = takers.filter((process) => !process.quiet);
  if (live.length === 0) obstacles.push({ is: "no-process" });
  else if (takers.length === 0) obstacles.push({ is: "no-taker" });
  else if (awake.length === 0) obstacles.push({ is: "quiet" });
  else if (awake.every((process) => process.busy >= process.concurrency)) obstacles.push({ is: "busy" });
  const name = job.class;
  if (name !== undefined && awake.length > 0 && awake.every(({ classes }) => classes && !classes.includes(name))) {
    obstacles.push({ is: "no-handler" });
  }
  return obstacles;
}
