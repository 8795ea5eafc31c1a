/**
 * The remark after a push that its jobs don't run yet, for `jobs push` and `jobs flow push`.
 *
 * @module
 */
import type { Store } from "../../store/admin/store.ts";
import { type Blocker, blockersOf } from "../../store/ops/blockers.ts";
import { StoreError } from "../../store/port/errors.ts";
import { ALL_QUEUES } from "../../store/port/paused_queues.ts";
import { blankControls, printError } from "../terminal/output.ts";

/** A job that was pushed. */
export interface PushedJob {
  readonly class: string;
  readonly queue: string;
}

/** At most this many remarks follow a push. */
const MAX_REMARKS = 5;

/** Reports an error after the push without failing: a client that takes it for a failed push would push again. */
export async function afterStoring(remark: () => Promise<void>): Promise<void> {
  try {
    await remark();
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    printError(`jobs: enqueued; can't check for workers: ${error.message}`);
  }
}

/** Prints why jobs don't run yet, each reason once. Without jobs: only a reason that applies to any job. */
export async function remarkIfIdle(store: Store, jobs?: readonly PushedJob[]): Promise<void> {
  const names = new Set([ALL_QUEUES, ...(jobs ?? []).map(({ queue }) => queue)]);
  const [workers, queues] = await Promise.all([store.workers.list(), store.admin.pausedQueues([...names])]);
  const remarks = new Set<string>();
  for (const job of jobs ?? [undefined]) {
    const nearest = blockersOf(job ?? { queue: "" }, { workers, queues }).find(({ is }) =>
      is !== "busy" && (job !== undefined || is === "no-worker-online" || is === "all-paused")
    );
    if (nearest !== undefined) remarks.add(remarkOn(nearest, job));
    if (remarks.size === MAX_REMARKS) break;
  }
  for (const remark of remarks) printError(`jobs: enqueued, but ${remark}`);
}

function remarkOn({ is }: Blocker, job?: PushedJob): string {
  const queue = `queue "${job?.queue}"`;
  switch (is) {
    case "all-paused":
      return "all queues are paused; jobs resume resumes them";
    case "paused":
      return `${queue} is paused; jobs resume ${job?.queue} resumes it`;
    case "limited":
      return `${queue} is at its limit`;
    case "no-worker-online":
      return "no worker is online; start one: jobs run handlers.js";
    case "no-worker-of-queue":
      return `no worker processes ${queue}; start one: jobs run handlers.js -q ${job?.queue}`;
    case "quiet":
      return `all workers of ${queue} are quiet; start one: jobs run handlers.js -q ${job?.queue}`;
    case "busy":
      return `all processors of ${queue} are busy`;
    case "no-handler":
      return `it waits: no worker of ${queue} has a handler for class "${blankControls(job?.class ?? "")}"`;
  }
}
