/**
 * Runs tasks in parallel, and then those that must run alone.
 *
 * @module
 */
import type { Task } from "./plan.ts";

/** The events of a pool. */
export interface PoolEvents<Result> {
  started(task: Task): void;
  ended(result: Result): void;
}

/**
 * Runs all tasks: up to `lanes` at a time, in the given order; then each task that must be alone. After `signal` no more
 * tasks start.
 *
 * @returns the results, in the order in which tasks ended
 */
export async function runAll<Result>(
  tasks: readonly Task[],
  lanes: number,
  run: (task: Task) => Promise<Result>,
  events: PoolEvents<Result>,
  signal: AbortSignal,
): Promise<Result[]> {
  const results: Result[] = [];
  const runLane = async (queue: Task[]) => {
    for (let task = queue.shift(); task !== undefined && !signal.aborted; task = queue.shift()) {
      events.started(task);
      const result = await run(task);
      results.push(result);
      events.ended(result);
    }
  };
  const shared = tasks.filter(({ alone }) => !alone);
  await Promise.all(Array.from({ length: lanes }, () => runLane(shared)));
  await runLane(tasks.filter(({ alone }) => alone));
  return results;
}
