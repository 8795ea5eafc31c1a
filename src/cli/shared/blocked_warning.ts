/**
 * The warning after a push whose jobs can't run yet, for `jobs push` and `jobs flow push`.
 *
 * @module
 */
import type { Store } from "../../store/admin/store.ts";
import { type Blocker, blockersOf } from "../../store/ops/blockers.ts";
import { ALL_QUEUES } from "../../store/port/paused_queues.ts";
import type { WorkerInfo } from "../../store/port/workers.ts";
import { startAdvice } from "../../text/runtimes.ts";
import { printError } from "../terminal/output.ts";
import { attempt } from "./report.ts";

/** A job that was pushed. */
export interface PushedJob {
  readonly class: string;
  readonly queue: string;
}

/** Maximum number of warnings after a push. */
const MAX_WARNINGS = 5;

/** Runs a check after a push. Its failure doesn't fail the command. */
export function afterPush(check: () => Promise<void>): Promise<void> {
  return attempt(check, "enqueued; can't check for workers");
}

/** Warns why jobs can't run yet, each reason once. Without jobs: only a reason that applies to any job. */
export async function warnIfBlocked(store: Store, jobs?: readonly PushedJob[]): Promise<void> {
  const names = new Set([ALL_QUEUES, ...(jobs ?? []).map(({ queue }) => queue)]);
  const [workers, { queues }] = await Promise.all([store.workers.list(), store.admin.stats({ queues: [...names] })]);
  const warnings = new Set<string>();
  for (const job of jobs ?? [undefined]) {
    const nearest = blockersOf(job ?? { queue: "" }, { workers, queues }).find(({ is }) =>
      is !== "busy" && is !== "blocked" && is !== "limited" &&
      (job !== undefined || is === "no-worker-online" || is === "all-paused")
    );
    if (nearest !== undefined) warnings.add(warningOf(nearest, job, workers));
    if (warnings.size === MAX_WARNINGS) break;
  }
  for (const warning of warnings) printError(`jobs: enqueued, but ${warning}`);
}

function warningOf({ is }: Blocker, job: PushedJob | undefined, workers: readonly WorkerInfo[]): string {
  const queue = `queue "${job?.queue}"`;
  const start = startAdvice(workers, job === undefined ? [] : [job.queue]);
  switch (is) {
    case "all-paused":
      return "all queues are paused; jobs resume resumes them";
    case "paused":
      return `${queue} is paused; jobs resume ${job?.queue} resumes it`;
    case "limited":
      return `${queue} is at its limit`;
    case "no-worker-online":
      return `no worker is online; start one: ${startAdvice(workers)}`;
    case "no-worker-of-queue":
      return `no worker processes ${queue}; start one: ${start}`;
    case "quiet":
      return `all workers of ${queue} are quiet; jobs resume --all-workers resumes them`;
    case "stopping":
      return `all workers of ${queue} are stopping; start one: ${start}`;
    case "busy":
    case "blocked":
      return `all processors of ${queue} are busy`;
    case "no-handler":
      return `it waits: no worker of ${queue} has a handler for class "${job?.class ?? ""}"`;
  }
}
