/**
 * What the commands print with `--json` that push jobs and look at them.
 *
 * @module
 */
import { STEP } from "./json_shapes_steps.ts";
import { type Fields, QUEUE, type Shape, under } from "./json_shape.ts";

const ENTRY: Fields = {
  "jid?": ["text", "the job's id; absent where the payload cannot be read"],
  "class?": ["text", "its class, as people know it"],
  "place": ["text", "`queue`, `scheduled`, `retry`, `dead` or `running`"],
  "queue?": ["text", "the queue that it is in, or goes to"],
  "at?": ["time", "scheduled, retry: when it is due; dead: when it died; running: when it was taken"],
  "owner?": ["text", "running: the process that has it"],
  "backtrace?": ["list of texts", "the stack of its last failure, where the job keeps one (`backtrace`)"],
  "payload": ["any", "the payload as an object; its text where it cannot be read"],
};

const ENDED: Fields = {
  "jid": ["text", "the job's id"],
  "class": ["text", "the class that performed it"],
  "queue": ["text", "the queue it was taken from"],
  "state": ["text", "`done`, `failed`, `dead`, `cancelled` or `expired`"],
  "result?": ["any", "what the handler returned"],
  "result_dropped?": ["text", "why that was not kept"],
  "error?": ["object", "what it failed with"],
  "error.class?": ["text", "the error's class"],
  "error.message?": ["text", "its message"],
  "error.stack?": ["list of texts", "its stack"],
  "attempt?": ["number", "the try that ended it, 1 for the first"],
  "started_at?": ["ms", "when that try began"],
  "ended_at": ["ms", "when it ended"],
  "elapsed_ms?": ["number", "how long that try took"],
  "process?": ["text", "the process that performed it"],
  "progress?": ["text", "how far it said it was"],
  "last_line?": ["text", "the last line it logged"],
  "log?": ["list of texts", "the last lines it logged"],
  "payload?": ["any", "its payload, unless that is large"],
};

const PAGE: Fields = {
  "entries": ["list", "the jobs, in order"],
  ...under("entries[]", ENTRY),
  "next?": ["text", "the `--cursor` of the next page; absent on the last"],
};

/** In the order of `jobs help`. */
export const JOB_SHAPES: readonly Shape[] = [
  { command: "jobs push CLASS", prints: "an object", fields: { "jid": ["text", "the job's id"] } },
  {
    command: "jobs push --bulk FILE",
    prints: "an object a line",
    fields: { "line": ["number", "the line of the file"], "jid": ["text", "the job made of it"] },
    note: "Lines that are refused are named on stderr.",
  },
  { command: "jobs push CLASS --wait", prints: "an object", fields: ENDED },
  {
    command: "jobs show JID",
    prints: "an object",
    fields: {
      ...ENTRY,
      "why": ["list of texts", "why it is not running, the nearest reason first; empty when it runs"],
      "position?": ["any", "in a queue: 1 for the job that is taken next; a text where it is far from that"],
      "progress?": ["text", "running: how far it says it is"],
      "lastLine?": ["text", "running: the last line it logged"],
      "log?": ["list of texts", "running: the last lines it logged"],
      "steps?": ["list", "its durable steps, as `jobs steps` has them"],
      ...under("steps[]", STEP),
    },
    note: "A list of them where several jobs have that jid. Of a job that has ended: what `push --wait` prints.",
  },
  {
    command: "jobs find TEXT",
    prints: "an object",
    fields: {
      "entries": ["list", "jobs that are there"],
      ...under("entries[]", ENTRY),
      "ended": ["list", "jobs that have ended and are known, as `list done` has them"],
      ...under("ended[]", ENDED),
      "more": ["boolean", "whether there are more than the limit"],
    },
  },
  { command: "jobs list queues", prints: "a list of objects", fields: QUEUE },
  { command: "jobs list queue NAME|scheduled|retry|dead|busy", prints: "an object", fields: PAGE },
  {
    command: "jobs list done",
    prints: "an object",
    fields: {
      "entries": ["list", "the latest first"],
      ...under("entries[]", ENDED),
      "next?": ["text", "the `--cursor` of the next page"],
    },
  },
];
