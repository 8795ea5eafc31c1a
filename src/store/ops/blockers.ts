/**
 * The reasons why a job doesn't run: one answer for `jobs push`, `jobs show`, `jobs doctor` and the dashboard, which word it
 * differently. Pure.
 *
 * @module
 */
import type { QueueInfo } from "../admin/admin.ts";
import type { LimitInfo } from "../port/limits.ts";
import { ALL_QUEUES } from "../port/paused_queues.ts";
import type { WorkerInfo } from "../port/workers.ts";
import { blockedStall, longestRunning, type Stall } from "./stalls.ts";

/**
 * A reason why a job doesn't run:
 *
 * - `all-paused`, `paused`: all queues are paused, or this one is.
 * - `limited`: the queue is at its limit.
 * - `no-worker-online`: no worker is alive. `no-worker-of-queue`: no live worker serves this queue.
 * - `quiet`: all workers of the queue are quiet. `stopping`: all of them stop. `busy`: all their processors have work. `blocked`: handlers block their event loops.
 * - `no-handler`: the job waits: no worker of the queue has a handler for its class. A worker that doesn't report its
 *   classes (Sidekiq's, or one with thousands) may have one.
 */
export type Blocker =
  | Pause
  | { readonly is: "limited"; readonly limit: LimitInfo }
  /** `stall` is the job that blocks, or the one that has run longest, if that is known. */
  | { readonly is: "busy" | "blocked"; readonly stall: Stall | undefined }
  | { readonly is: "no-worker-online" | "no-worker-of-queue" | "quiet" | "stopping" | "no-handler" };

/** A pause of all queues, or of the job's. */
export interface Pause {
  readonly is: "all-paused" | "paused";
  /** Milliseconds until its end; undefined if it has none. */
  readonly forMs: number | undefined;
}

/** The workers and queues of the store. */
export interface Around {
  readonly workers: readonly (
    & Pick<WorkerInfo, "id" | "alive" | "quiet" | "busy" | "concurrency" | "queues" | "classes">
    & Partial<Pick<WorkerInfo, "work" | "blocked" | "stopping" | "quietSince" | "heartbeatAt" | "version">>
  )[];
  readonly queues: readonly Pick<QueueInfo, "name" | "paused" | "pausedForMs" | "limit">[];
}

/**
 * Returns why a job doesn't run, the nearest reason first; nothing if the job only waits for its turn.
 *
 * @param job without a class: its class is unknown, or any
 */
export function blockersOf(
  job: { readonly queue: string; readonly class?: string | undefined },
  { workers, queues }: Around,
): Blocker[] {
  const blockers: Blocker[] = [];
  for (const [name, is] of [[ALL_QUEUES, "all-paused"], [job.queue, "paused"]] as const) {
    const found = queues.find((queue) => queue.name === name);
    if (found?.paused) blockers.push({ is, forMs: found.pausedForMs });
  }
  const limit = queues.find((queue) => queue.name === job.queue)?.limit;
  if (limit && limit.freeInMs !== 0) blockers.push({ is: "limited", limit });
  const live = workers.filter((worker) => worker.alive);
  const serving = live.filter((worker) => worker.queues.includes(job.queue));
  const awake = serving.filter((worker) => !worker.quiet);
  if (live.length === 0) blockers.push({ is: "no-worker-online" });
  else if (serving.length === 0) blockers.push({ is: "no-worker-of-queue" });
  else if (awake.length === 0) blockers.push({ is: serving.every(({ stopping }) => stopping) ? "stopping" : "quiet" });
  else if (awake.every(({ blocked }) => blocked !== undefined)) {
    blockers.push({ is: "blocked", stall: blockedStall(awake[0]!) });
  } else if (awake.every(({ blocked, busy, concurrency }) => blocked !== undefined || busy >= concurrency)) {
    blockers.push({ is: "busy", stall: longestRunning(awake) });
  }
  const name = job.class;
  if (name !== undefined && awake.length > 0 && awake.every(({ classes }) => classes && !classes.includes(name))) {
    blockers.push({ is: "no-handler" });
  }
  return blockers;
}
