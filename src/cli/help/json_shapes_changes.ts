/**
 * The output of the commands that change jobs, queues and workers, with `--json`.
 *
 * @module
 */
import { type Fields, LIMIT, optional, type Shape } from "./json_shape.ts";

const edited = (past: string): Fields => ({
  [`${past}?`]: ["number", "how many jobs changed; absent with `--dry-run`"],
  "matched?": ["number", "with `--dry-run`: how many jobs would change"],
  "dryRun?": ["boolean", "true with `--dry-run`"],
  "error?": ["object", "the first error, if a job didn't change"],
  "error.code?": ["text", "`not_found`, `finished`, `wrong_state` or `moved`"],
  "error.message?": ["text", "one line"],
  "errors?": ["list", "all errors, each with its `jid`"],
  "errors[].jid?": ["text", "the job"],
  "errors[].code?": ["text", "as above"],
  "errors[].message?": ["text", "one line"],
});

/** In the order of `jobs help`. */
export const CHANGE_SHAPES: readonly Shape[] = [
  { command: "jobs retry", prints: "an object", fields: edited("retried") },
  { command: "jobs kill", prints: "an object", fields: edited("killed") },
  { command: "jobs cancel", prints: "an object", fields: edited("cancelled") },
  { command: "jobs delete", prints: "an object", fields: edited("deleted") },
  { command: "jobs move", prints: "an object", fields: edited("moved") },
  {
    command: "jobs clear QUEUE",
    prints: "an object",
    fields: {
      "queue": ["text", "the queue"],
      "group?": ["text", "the group, with `--group`"],
      "deleted": ["number", "how many jobs were deleted"],
      "removed": ["boolean", "whether the queue was removed from the list of queues"],
    },
  },
  {
    command: "jobs pause",
    prints: "an object",
    fields: {
      "paused": ["list of texts", "the queues; `*` stands for all"],
      "group?": ["text", "the group, with `--group`"],
    },
  },
  {
    command: "jobs resume",
    prints: "an object",
    fields: {
      "resumed": ["list of texts", "the queues; `*` stands for all"],
      "group?": ["text", "the group, with `--group`"],
    },
  },
  {
    command: "jobs limit",
    prints: "a list of objects",
    fields: {
      "queue": ["text", "a queue with a limit"],
      "group?": ["text", "the group that the limit belongs to; absent for the limit of the queue or of each group"],
      "eachGroup?": ["boolean", "true for the limit of each group"],
      ...optional(LIMIT),
      "weight?": ["number", "the share of the group; absent for 1"],
      "forMs?": ["number", "time until the limit of the group ends; absent if it doesn't"],
    },
  },
  {
    command: "jobs quiet|stop",
    prints: "an object",
    fields: { "workers": ["list of texts", "the IDs of the workers that received the command"] },
    note: "`jobs resume --worker` prints the same.",
  },
  {
    command: "jobs dump",
    prints: "an object",
    fields: {
      "workers": ["list", "the workers"],
      "workers[].id?": ["text", "the worker"],
      "workers[].dump?": ["list of texts", "its tasks, a line each; absent if it didn't reply"],
      "error?": ["object", "`no_reply` if a worker didn't reply"],
    },
  },
];
