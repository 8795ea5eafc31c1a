/**
 * Pausing everything: what stands for all queues, those to come included, where a queue is paused or resumed.
 *
 * @module
 */

/** No queue can have this name. */
export const ALL_QUEUES = "*";

/** Whether nothing is taken from any queue. */
export function isSuspended(queues: readonly { readonly name: string; readonly paused: boolean }[]): boolean {
  return queues.some(({ name, paused }) => name === ALL_QUEUES && paused);
}

/** What a pause is about, as the audit log names it. */
export function pauseTarget(queue: string): string {
  return queue === ALL_QUEUES ? "all queues" : `queue:${queue}`;
}
