/**
 * What the commands print with `--json` that change jobs, queues and processes.
 *
 * @module
 */
import { type Fields, LIMIT, type Shape } from "./json_shape.ts";

const edited = (verb: string): Fields => ({
  [verb]: ["number", "how many jobs it was done to"],
  "missed": ["list of texts", "the jids it was not done to"],
});

/** In the order of `jobs help`. */
export const CHANGE_SHAPES: readonly Shape[] = [
  { command: "jobs retry", prints: "an object", fields: edited("retry") },
  { command: "jobs kill", prints: "an object", fields: edited("kill") },
  { command: "jobs delete", prints: "an object", fields: edited("delete") },
  {
    command: "jobs cancel JID …",
    prints: "an object by jid",
    fields: { "{}": ["text", "`removed`, `aborted`, `dead` or `absent`"] },
  },
  {
    command: "jobs cancel --all SET",
    prints: "an object",
    fields: { "cancel": ["number", "how many were cancelled"] },
  },
  {
    command: "jobs clear QUEUE",
    prints: "an object",
    fields: {
      "queue": ["text", "the queue"],
      "cleared": ["number", "how many jobs were deleted"],
      "forgotten": ["boolean", "whether it is off the list of queues"],
    },
  },
  {
    command: "jobs pause",
    prints: "an object",
    fields: { "pause": ["list of texts", "the queues; `*` stands for all"] },
  },
  {
    command: "jobs resume",
    prints: "an object",
    fields: { "resume": ["list of texts", "the queues; `*` stands for all"] },
  },
  {
    command: "jobs limit",
    prints: "a list of objects",
    fields: { "queue": ["text", "a queue that is limited"], ...LIMIT },
  },
  {
    command: "jobs quiet|stop",
    prints: "an object",
    fields: { "asked": ["list of texts", "the identities of those that were asked"] },
  },
  {
    command: "jobs dump",
    prints: "a list of objects",
    fields: {
      "identity": ["text", "the process"],
      "dump?": ["list of texts", "its tasks, a line each; absent where it did not answer"],
    },
  },
];
