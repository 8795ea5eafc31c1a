/**
 * The names of queues.
 *
 * @module
 */

/** Matches valid names: letters, digits and `_ : . -`, as in Sidekiq's Web UI. */
export const QUEUE_NAME = /^[A-Za-z0-9_:.-]{1,255}$/;
