/**
 * Runs tasks in parallel.
 *
 * @module
 */
import type { Task } from "./plan.ts";

/** The events of a pool. */
export interface PoolEvents<Result> {
  started(task: Task): void;
  ended(result: Result): void;
}

/** How many tasks run at a time. */
export interface PoolLanes {
  /** This many always. */
  readonly lanes: number;
  /** This many more while the processors are idle: some tasks wait for most of their time. */
  readonly extra: number;
  /** Returns the idle share of all processors, from 0 to 1, during the time that it takes. */
  readonly idle: () => Promise<number>;
}

/** With less idle time, another task would slow the others down. */
const MIN_IDLE = 0.25;

/**
 * Runs all tasks in the given order, several at a time. After `signal` no more tasks start.
 *
 * @returns the results, in the order in which tasks ended
 */
export async function runAll<Result>(
  tasks: readonly Task[],
  { lanes, extra, idle }: PoolLanes,
  run: (task: Task) => Promise<Result>,
  events: PoolEvents<Result>,
  signal: AbortSignal,
): Promise<Result[]> {
  const results: Result[] = [];
  const perform = async (task: Task) => {
    events.started(task);
    const result = await run(task);
    results.push(result);
    events.ended(result);
  };
  const runLane = async (queue: Task[]) => {
    for (let task = queue.shift(); task !== undefined && !signal.aborted; task = queue.shift()) await perform(task);
  };
  const waiting = [...tasks];
  const runExtra = async () => {
    const running = new Set<Promise<void>>();
    while (waiting.length > 0 && !signal.aborted) {
      const isIdle = await idle() >= MIN_IDLE && running.size < extra;
      const task = isIdle && !signal.aborted ? waiting.shift() : undefined;
      if (task === undefined) continue;
      const one: Promise<void> = perform(task).finally(() => running.delete(one));
      running.add(one);
    }
    await Promise.all(running);
  };
  const all = Array.from({ length: lanes }, () => runLane(waiting));
  await Promise.all(extra > 0 ? [...all, runExtra()] : all);
  return results;
}
