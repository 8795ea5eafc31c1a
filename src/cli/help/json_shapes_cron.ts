/**
 * What `jobs cron` prints with `--json`.
 *
 * @module
 */
import { type Fields, type Shape, under } from "./json_shape.ts";

const RECORD: Fields = {
  "scheduledAt": ["time", "the occurrence"],
  "decidedAt": ["time", "when it was decided what becomes of it"],
  "outcome": ["text", "`enqueued`, `manual`, `skipped`, `missed`, …"],
  "jid?": ["text", "the job that was enqueued"],
  "reason?": ["text", "why it was not"],
  "count?": ["number", "how many occurrences this stands for"],
  "first?": ["time", "the first of them"],
};

/** In the order of `jobs help`. */
export const CRON_SHAPES: readonly Shape[] = [
  {
    command: "jobs cron list",
    prints: "a list of objects",
    fields: {
      "name": ["text", "the entry"],
      "class?": ["text", "the class of its jobs; this and what follows are absent where the entry is not understood"],
      "args?": ["any", "their arguments"],
      "schedule?": ["any", "its rule or interval"],
      "when?": ["text", "the same in words"],
      "*?": ["any", "whatever else the entry was given: `queue`, `overlap`, `catchUp`, `memo`, …"],
      "next?": ["time", "its next occurrence"],
      "local?": ["text", "the same in its zone"],
      "paused": ["boolean", "whether it is paused"],
      "waiting?": ["time", "an occurrence that waits for the job before it"],
      "live?": ["text", "the jid of its last job, while that is not done"],
      "carried": ["boolean", "whether a process carries it"],
      "counts": ["any", "how often each outcome came about"],
      "last?": ["object", "what became of the last occurrence, as `cron history` has it"],
      ...Object.fromEntries(Object.entries(under("last", RECORD)).map(([path, about]) => [optional(path), about])),
    },
  },
  {
    command: "jobs cron next NAME",
    prints: "a list of objects",
    fields: { "at": ["time", "the occurrence"], "local": ["text", "the same in the entry's zone"] },
  },
  { command: "jobs cron history NAME", prints: "a list of objects", fields: RECORD },
  { command: "jobs cron run NAME", prints: "an object", fields: { "jid": ["text", "the job that was enqueued"] } },
  { command: "jobs cron add NAME CLASS", prints: "an object", fields: { "added": ["text", "the entry"] } },
  { command: "jobs cron pause NAME", prints: "an object", fields: { "paused": ["text", "the entry"] } },
  { command: "jobs cron resume NAME", prints: "an object", fields: { "resumed": ["text", "the entry"] } },
  { command: "jobs cron remove NAME", prints: "an object", fields: { "removed": ["text", "the entry"] } },
  {
    command: "jobs cron check",
    prints: "an object",
    fields: {
      "active": ["any", "the entries that are in force"],
      "inactive": ["list", "those that are switched off"],
      "inactive[].name?": ["text", "the entry"],
      "inactive[].by?": ["text", "what switches it off"],
      "problems": ["any", "what is wrong, each with its `message`"],
    },
  },
];

function optional(path: string): string {
  return path.endsWith("?") ? path : `${path}?`;
}
