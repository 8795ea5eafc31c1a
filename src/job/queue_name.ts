/**
 * Names of queues.
 *
 * @module
 */

/** Letters, digits and `_ : . -`: what Sidekiq's Web UI accepts as a queue's name. */
export const QUEUE_NAME = /^[A-Za-z0-9_:.-]{1,255}$/;
