/**
 * The outbox of an application.
 *
 * @module
 */
import { list, object, optional } from "./shape.ts";
import { integer, number, text, time } from "./values.ts";

const waiting = integer("rows that wait, counted up to 10000");
const oldestMs = optional(number("age of the oldest row that waits; absent without one"));
const refused = integer("refused rows, counted up to 10000");

/** The outbox, as `jobs outbox` prints it. */
export const outboxShape = object("", {
  ...{ waiting, oldestMs, refused },
  rows: list(
    "the first 100 refused rows",
    object("", {
      number: integer("the column `number`"),
      error: text("the reason"),
      job: text("the first 200 characters of the job"),
    }),
  ),
});

/** The outbox, as a worker sees it. */
export const workerOutboxShape = object("the outbox from which it pushes; absent if it has none", {
  ...{ waiting, oldestMs, refused },
  pushed: integer("jobs that this worker has pushed from it"),
  error: optional(text("why its database fails")),
  since: optional(time("since when")),
});

/** Rows that were retried. */
export const retriedRowsShape = object("", { retried: integer("rows that wait again") });
