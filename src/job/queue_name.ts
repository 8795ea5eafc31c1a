/**
 * The names of queues.
 *
 * @module
 */

/** Matches names that a push may use: letters, digits and `_ : . -`, as in Sidekiq's Web UI. */
export const QUEUE_NAME = /^[A-Za-z0-9_:.-]{1,255}$/;

/**
 * Returns whether a queue may exist under this name: other programs push to names that {@linkcode QUEUE_NAME} doesn't match. Stores
 * use `|` between a queue and its group.
 */
export function isQueueName(name: string): boolean {
  return name !== "" && !/[|\0]/.test(name);
}

/** Matches the addresses of stores and other URLs. */
const ADDRESS = /^(?:sqlite:|[a-z][a-z0-9+.-]*:\/\/)/i;

/** Returns whether jobs may be moved to a queue of this name: an address was meant as one. */
export function isTargetQueue(name: string): boolean {
  return isQueueName(name) && !ADDRESS.test(name);
}

/** The rule of {@linkcode isTargetQueue}, for messages. */
export const TARGET_QUEUE_EXPECTED = "the name of a queue, without |; jobs migrate moves everything to another store";

/** The rule of {@linkcode isQueueName}, for messages. */
export const QUEUE_NAME_EXPECTED = "the name of a queue, without |";
