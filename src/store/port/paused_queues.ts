/**
 * Pausing all queues together, including future ones.
 *
 * @module
 */

/** Stands for all queues in pauses. No queue can have this name. */
export const ALL_QUEUES = "*";

/** Returns whether all queues are paused together. */
export function isSuspended(queues: readonly { readonly name: string; readonly paused: boolean }[]): boolean {
  return queues.some(({ name, paused }) => name === ALL_QUEUES && paused);
}

/** Returns the target of a limit of each group of a queue as the audit log names it. */
export function eachGroupTarget(queue: string): string {
  return `${pauseTarget(queue)} each group`;
}

/** Returns the target of a pause as the audit log names it: a queue, or a group of it. */
export function pauseTarget(queue: string, group?: string): string {
  if (group !== undefined) return `queue:${queue} group ${group}`;
  return queue === ALL_QUEUES ? "all queues" : `queue:${queue}`;
}
