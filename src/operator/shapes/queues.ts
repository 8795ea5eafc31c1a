/**
 * Queues, their groups, and limits.
 *
 * @module
 */
import { list, object, optional } from "./shape.ts";
import { boolean, integer, NEXT, number, text } from "./values.ts";

/** The maximum of starts within a time. */
const startsShape = object("maximum of starts within a time; absent if unlimited", {
  count: integer("the maximum"),
  perMs: number("the time"),
});

/** The limit of a queue or a group, and its use. */
export const limitShape = object("its limit; absent if it has none", {
  running: optional(integer("maximum of jobs that run at once; absent if unlimited")),
  starts: optional(startsShape),
  taken: integer("jobs running now, if that is limited"),
  started: integer("starts within the time, if that is limited"),
  freeInMs: optional(number("time until the next start, 0 for now; absent if a running job has to end first")),
});

/** A queue. */
export const queueShape = object("", {
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

/** Queues, by name. */
export const queuePageShape = object("", { queues: list("the queues, by name", queueShape), next: NEXT });

/** A group of a queue. */
const groupShape = object("", {
  name: text("the group; `|high` and `|low` are the jobs of these priorities"),
  size: integer("queued jobs"),
  latencyMs: number("age of its oldest queued job; 0 without one"),
  running: integer("running jobs"),
  weight: number("its weight, 1 by default"),
  fairShare: optional(number(
    "the part of the queue's next jobs that its weight gives it, 0 to 1; not measured. Absent if it has no turns: no queued jobs, at its limit, or paused",
  )),
  limit: optional(limitShape),
  isOwn: boolean("whether it has a separate limit or weight; if not, that of each group applies"),
  sharesLimit: optional(boolean("true if just its weight is separate")),
  endsInMs: optional(number("time until its separate limit ends; absent if it doesn't")),
  paused: boolean("whether it is paused"),
  pausedForMs: optional(number("remaining time of the pause; absent if it has no end")),
});

/** Groups of a queue, by name. */
export const groupPageShape = object("", {
  groups: list("the groups with jobs, a separate limit or a pause, by name", groupShape),
  each: optional(object("the limit of each group without a separate one; absent without one", {
    running: optional(integer("maximum of its jobs that run at once")),
    starts: optional(startsShape),
    weight: optional(number("the weight, if not 1")),
  })),
  ungrouped: integer("queued jobs without a group"),
  ungroupedFairShare: optional(number("their fair share; absent without any")),
  slowest: optional(object(
    "the group whose oldest job has been queued for the longest time, on the first page",
    { name: text("its name"), latencyMs: number("the age of that job") },
  )),
  next: NEXT,
});

/** The limits. */
export const limitListShape = object("", {
  limits: list(
    "the limits of queues and of their groups",
    object("", {
      queue: text("a queue with a limit"),
      group: optional(text("the group that the limit belongs to; absent for the limit of the queue or of each group")),
      eachGroup: optional(boolean("true for the limit of each group")),
      ...limitShape.fields,
      taken: optional(limitShape.fields.taken),
      started: optional(limitShape.fields.started),
      weight: optional(number("the share of the group; absent for 1")),
      forMs: optional(number("time until the limit of the group ends; absent if it doesn't")),
      queued: optional(integer("queued jobs of the queue or the group; absent for the limit of each group")),
    }),
  ),
  more: list("queues that have more than 100 groups with a separate limit: `jobs list groups` lists all", text("")),
});
