/**
 * The `--json` output of `jobs batch`.
 *
 * @module
 */
import type { Fields, Shape } from "./json_shape.ts";

/** The fields of a batch. */
export const BATCH: Fields = {
  "id": ["text", "the batch's ID"],
  "name?": ["text", "its name"],
  "tags": ["list of texts", "its tags"],
  "parent?": ["text", "the batch that counts it as a member"],
  "state": ["text", "`open`, `running`, `stuck`, `succeeded`, `failed`, `cancelled` or `abandoned`"],
  "createdAt": ["time", "when it was opened"],
  "closedAt?": ["time", "when it was closed"],
  "completedAt?": ["time", "when each member had ended or was dead, for the first time"],
  "dueAt?": ["time", "open: when it is abandoned; finished: when it is removed"],
  "total": ["number", "members; the sum of the following"],
  "pending": ["number", "members that haven't ended"],
  "dead": ["number", "dead members"],
  "succeeded": ["number", "members that have succeeded"],
  "failed": ["number", "discarded members"],
  "cancelled": ["number", "cancelled members"],
  "expired": ["number", "expired members"],
  "deleted": ["number", "deleted members"],
  "callbacks": ["list", "the jobs to push"],
  "callbacks[].event": ["text", "`success`, `complete`, `death` or `abandoned`"],
  "callbacks[].jid": ["text", "the job's ID"],
  "callbacks[].class": ["text", "its class"],
  "callbacks[].pushedAt?": ["time", "when it was pushed"],
};

/** In the order of `jobs help`. */
export const BATCH_SHAPES: readonly Shape[] = [
  { command: "jobs batch open", prints: "an object", fields: { "id": ["text", "the batch's ID"] } },
  {
    command: "jobs batch close ID",
    prints: "an object",
    fields: { "closed": ["text", "the batch"], "done": ["boolean", "whether this call closed it"] },
  },
  { command: "jobs batch list", prints: "a list of objects", fields: BATCH },
  { command: "jobs batch show ID", prints: "an object", fields: BATCH },
  {
    command: "jobs batch cancel ID",
    prints: "an object",
    fields: {
      "cancelled": ["text", "the batch"],
      "members": ["number", "how many members this call cancelled"],
      "alreadyCancelled?": ["boolean", "true: an earlier call has cancelled it"],
    },
  },
  {
    command: "jobs batch retry ID",
    prints: "an object",
    fields: { "retried": ["number", "how many dead members were enqueued again"] },
  },
  {
    command: "jobs batch check ID",
    prints: "an object",
    fields: {
      "result": ["text", "`right`, `corrected`, or `busy`: it kept changing, and nothing was corrected"],
      "pending": ["number", "pending members found"],
      "dead": ["number", "dead members found"],
      "before": ["object", "how the batch counted them"],
      "before.pending": ["number", "pending members"],
      "before.dead": ["number", "dead members"],
    },
  },
];
