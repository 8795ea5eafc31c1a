/**
 * The output of `jobs cron` with `--json`.
 *
 * @module
 */
import { type Fields, type Shape, under } from "./json_shape.ts";

const RECORD: Fields = {
  "scheduledAt": ["time", "the scheduled time of the run"],
  "decidedAt": ["time", "when its outcome was decided"],
  "outcome": ["text", "`enqueued`, `manual`, `skipped`, `missed`, …"],
  "jid?": ["text", "the enqueued job"],
  "reason?": ["text", "why none was enqueued"],
  "count?": ["number", "how many runs this record covers"],
  "first?": ["time", "the first of them"],
};

/** In the order of `jobs help`. */
export const CRON_SHAPES: readonly Shape[] = [
  {
    command: "jobs cron list",
    prints: "a list of objects",
    fields: {
      "name": ["text", "the entry"],
      "class?": ["text", "the class of its jobs; absent, as the following fields, if a newer version wrote the entry"],
      "args?": ["any", "their arguments"],
      "schedule?": ["any", "its cron expression or interval"],
      "when?": ["text", "the same in words"],
      "*?": ["any", "the other fields of the entry: `queue`, `overlap`, `catchUp`, `memo`, …"],
      "next?": ["time", "its next run"],
      "local?": ["text", "the same in its time zone"],
      "paused": ["boolean", "whether it is paused"],
      "waiting?": ["time", "a run that waits for the job of the run before"],
      "live?": ["text", "the jid of its last job, until that has finished"],
      "loaded": ["boolean", "whether a worker has loaded it"],
      "counts": ["any", "how often each outcome occurred"],
      "last?": ["object", "its last run, as in `cron history`"],
      ...Object.fromEntries(Object.entries(under("last", RECORD)).map(([path, about]) => [optional(path), about])),
    },
  },
  {
    command: "jobs cron next NAME",
    prints: "a list of objects",
    fields: { "at": ["time", "the scheduled time of the run"], "local": ["text", "the same in the entry's time zone"] },
  },
  { command: "jobs cron history NAME", prints: "a list of objects", fields: RECORD },
  { command: "jobs cron run NAME", prints: "an object", fields: { "jid": ["text", "the enqueued job"] } },
  { command: "jobs cron add NAME CLASS", prints: "an object", fields: { "added": ["text", "the entry"] } },
  { command: "jobs cron pause NAME", prints: "an object", fields: { "paused": ["text", "the entry"] } },
  { command: "jobs cron resume NAME", prints: "an object", fields: { "resumed": ["text", "the entry"] } },
  { command: "jobs cron remove NAME", prints: "an object", fields: { "removed": ["text", "the entry"] } },
  {
    command: "jobs cron check",
    prints: "an object",
    fields: {
      "active": ["any", "the active entries"],
      "inactive": ["list", "the disabled entries"],
      "inactive[].name?": ["text", "the entry"],
      "inactive[].by?": ["text", "the field that disables it"],
      "problems": ["any", "the problems, each with its `message`"],
    },
  },
];

function optional(path: string): string {
  return path.endsWith("?") ? path : `${path}?`;
}
