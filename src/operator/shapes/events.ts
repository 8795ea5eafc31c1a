/**
 * Events.
 *
 * @module
 */
import { EVENT_TYPES } from "../../job/event.ts";
import { list, object, optional } from "./shape.ts";
import { choice, integer, text, time } from "./values.ts";

/** An event. */
export const eventShape = object("An event. The HTTP API masks secrets.", {
  id: integer("its position: later events have greater ones"),
  type: choice([...EVENT_TYPES, "gap"], "what has happened; `gap`: events are missing"),
  at: time("when"),
  jid: optional(text("the job")),
  class: optional(text("the class of the job, or of the jobs of the cron entry")),
  queue: optional(text("the queue that the job names")),
  batch: optional(text("the batch or flow that has ended, or that the job belongs to")),
  name: optional(text("the name of the batch or flow")),
  tags: optional(list("the tags of the job, batch or flow", text(""))),
  state: optional(choice(["succeeded", "failed", "stuck", "cancelled"], "how the batch or flow has ended")),
  error: optional(object("why the job has failed", {
    class: text("the error's class"),
    message: text("its message, up to 300 characters"),
  })),
  entry: optional(text("the cron entry")),
  count: optional(integer("how many runs it missed")),
  worker: optional(text("the worker")),
  after: optional(integer("of a gap: the events after this ID, up to that of the gap, are no longer kept")),
  since: optional(time("of a gap: when recording ended, until `at`")),
});

/** A page of events. */
export const eventPageShape = object("", {
  events: list("the events, oldest first", eventShape),
  next: integer("the `after` of the next page, also if there is none yet"),
});
