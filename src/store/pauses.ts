/**
 * Pausing everything: what stands for all queues, those to come included, where a queue is paused or resumed.
 *
 * @module
 */

/** No queue can have this name. */
export const ALL_QUEUES = "*";
