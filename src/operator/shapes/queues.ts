/**
 * Queues and their limits.
 *
 * @module
 */
import { object, optional } from "./shape.ts";
import { boolean, integer, number, text } from "./values.ts";

/** The limit of a queue or a group, and its use. */
export const limitShape = object("its limit; absent if it has none", {
  running: optional(integer("maximum of jobs that run at once; absent if unlimited")),
  starts: optional(object("maximum of starts within a time; absent if unlimited", {
    count: integer("the maximum"),
    perMs: number("the time"),
  })),
  taken: integer("jobs running now, if that is limited"),
  started: integer("starts within the time, if that is limited"),
  freeInMs: optional(number("time until the next start, 0 for now; absent if a running job has to end first")),
});

/** A queue. */
export const queueShape = object("a queue", {
  name: text("the queue; `*` stands for all queues, if they are paused"),
  size: integer("queued jobs"),
  latencyMs: number("age of its oldest job; 0 if it is empty"),
  paused: boolean("whether it is paused"),
  pausedForMs: optional(number("remaining time of the pause; absent if it has no end")),
  limit: optional(limitShape),
  heldGroups: optional(
    integer("its groups that are at their limit or paused, counted up to 1000; absent without any"),
  ),
  hasGroupSettings: optional(boolean("true if limits or pauses of its groups are stored; absent without any")),
});
