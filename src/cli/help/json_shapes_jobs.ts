/**
 * The output of the commands that push and show jobs, with `--json`.
 *
 * @module
 */
import { STEP } from "./json_shapes_steps.ts";
import { type Fields, GROUP, optional, QUEUE, type Shape, under } from "./json_shape.ts";

const JOB: Fields = {
  "jid?": ["text", "the job's ID; absent if the payload is unreadable"],
  "class?": ["text", "its class"],
  "state": ["text", "`queued`, `scheduled`, `retrying`, `dead`, `running` or `waiting`"],
  "queue?": ["text", "the queue that it is in or returns to"],
  "createdAt?": ["time", "when it was pushed"],
  "enqueuedAt?": ["time", "when it entered its queue"],
  "dueAt?": ["time", "scheduled, retrying: when it is due"],
  "diedAt?": ["time", "dead: when it died"],
  "startedAt?": ["time", "running: when a worker fetched it"],
  "worker?": ["text", "running: the worker; with `jobs show` also of the last failed attempt"],
  "error?": ["object", "its last failure"],
  "error.class?": ["text", "the error's class"],
  "error.message?": ["text", "its message"],
  "error.backtrace?": [
    "list of texts",
    "its stack trace, if the job keeps it (`backtrace`), or `jobs show` finds the record of a dead job",
  ],
  "flow?": ["text", "waiting: its flow"],
  "node?": ["text", "waiting: its node"],
  "after?": ["list of texts", "waiting: the nodes before it"],
  "waitsFor?": ["number", "waiting: nodes that it still waits for"],
  "payload": ["any", "the payload as an object; its text if it is unreadable"],
};

const FINISHED: Fields = {
  "jid": ["text", "the job's ID"],
  "class": ["text", "its class"],
  "queue": ["text", "its queue"],
  "state": ["text", "`succeeded`, `failed`, `dead`, `cancelled` or `expired`"],
  "result?": ["any", "the handler's return value"],
  "resultDropped?": ["text", "why the result wasn't kept"],
  "error?": ["object", "its failure"],
  "error.class?": ["text", "the error's class"],
  "error.message?": ["text", "its message"],
  "error.stack?": ["list of texts", "its stack trace"],
  "attempt?": ["number", "the last attempt, 1 for the first"],
  "startedAt?": ["time", "when that attempt started"],
  "endedAt": ["time", "when the job ended"],
  "elapsedMs?": ["number", "duration of that attempt"],
  "worker?": ["text", "the worker that ran it"],
  "progress?": ["text", "its last progress"],
  "lastLine?": ["text", "its last log line"],
  "log?": ["list of texts", "its last log lines"],
  "steps?": ["list", "its durable steps, as `jobs steps` prints them: the latest 100, up to 32 KiB"],
  ...under("steps[]", STEP),
  "payload?": ["any", "its payload, unless that is large"],
};

/** In the order of `jobs help`. */
export const JOB_SHAPES: readonly Shape[] = [
  {
    command: "jobs push CLASS",
    prints: "an object",
    fields: {
      "jid": ["text", "the job's ID; of a duplicate, the ID of the job that holds the lock"],
      "duplicateOf?": ["text", "the same ID, if the job is a duplicate"],
      "throttledBy?": ["text", "the same ID, if the push is throttled: that of the job whose place is free next"],
      "retryInMs?": ["number", "milliseconds until a throttled push is accepted"],
      "replaced?": ["true", "the job replaced one that waited for the same key, and has its ID"],
    },
  },
  {
    command: "jobs push --bulk FILE",
    prints: "an object a line",
    fields: {
      "line": ["number", "the line of the file"],
      "jid": ["text", "its job"],
      "duplicateOf?": ["text", "as for `jobs push CLASS`"],
      "throttledBy?": ["text", "as for `jobs push CLASS`"],
      "replaced?": ["true", "as for `jobs push CLASS`"],
    },
    note: "Invalid lines are named on stderr.",
  },
  { command: "jobs push CLASS --wait", prints: "an object", fields: FINISHED },
  {
    command: "jobs list STATE",
    prints: "an object",
    fields: {
      "jobs": ["list", "the jobs, in order"],
      ...under("jobs[]", JOB),
      "next?": ["text", "the `--cursor` of the next page; absent at the end"],
    },
  },
  {
    command: "jobs list finished",
    prints: "an object",
    fields: {
      "jobs": ["list", "the jobs, latest first"],
      ...under("jobs[]", FINISHED),
      "next?": ["text", "the `--cursor` of the next page; absent at the end"],
    },
  },
  {
    command: "jobs list groups QUEUE",
    prints: "an object",
    fields: {
      "groups": ["list", "the groups with jobs, a separate limit or a pause, by name"],
      ...optional(under("groups[]", GROUP)),
      "each?": ["object", "the limit of each group without a separate one; absent without one"],
      "each.running?": ["number", "maximum of its jobs that run at once"],
      "each.starts?": ["any", "maximum of its starts within a time"],
      "each.weight?": ["number", "the weight, if not 1"],
      "ungrouped": ["number", "queued jobs without a group"],
      "ungroupedFairShare?": ["number", "their fair share; absent without any"],
      "slowest?": ["object", "the group whose oldest job has been queued for the longest time, on the first page"],
      "slowest.name?": ["text", "its name"],
      "slowest.latencyMs?": ["number", "the age of that job"],
      "next?": ["text", "the `--cursor` of the next page; absent at the end"],
    },
  },
  {
    command: "jobs find",
    prints: "an object",
    fields: {
      "jobs": ["list", "jobs that haven't finished"],
      ...under("jobs[]", JOB),
      "finished": ["list", "finished jobs"],
      ...under("finished[]", FINISHED),
      "more": ["boolean", "whether there are more than the limit"],
    },
  },
  {
    command: "jobs show JID",
    prints: "an object",
    fields: {
      ...JOB,
      "why": ["list of texts", "why it isn't running, the nearest reason first; empty if it runs"],
      "position?": ["any", "queued: 1 for the job that is fetched next; a text if it is far from that"],
      "progress?": ["text", "running: its progress"],
      "lastLine?": ["text", "running: its last log line"],
      "abortReason?": ["text", "running: its signal has aborted: `Cancelled`, `Timeout`, `Shutdown` or `LeaseLost`"],
      "log?": ["list of texts", "running: its last log lines"],
      "steps?": ["list", "its durable steps, as `jobs steps` prints them"],
      ...under("steps[]", STEP),
    },
    note: "A list if several jobs have that jid. Of a finished job, the output of `push --wait`.",
  },
  {
    command: "jobs errors",
    prints: "an object",
    fields: {
      "groups": ["list", "failed jobs by class and error, the largest group first"],
      "groups[].class?": ["text", "the class"],
      "groups[].error?": ["text", "`ErrorClass: message`, with `*` for the parts that vary"],
      "groups[].dead?": ["number", "dead jobs"],
      "groups[].retrying?": ["number", "retrying jobs"],
      "groups[].firstAt?": ["time", "the first failure"],
      "groups[].lastAt?": ["time", "the last failure"],
      "groups[].jid?": ["text", "the job that failed last"],
      "more": ["boolean", "whether there are more than the limit"],
      "ungrouped": ["number", "jobs in no group, because there are too many different errors"],
    },
  },
  {
    command: "jobs queues",
    prints: "a list of objects",
    fields: {
      ...QUEUE,
      "workers": ["list of texts", "the IDs of the online workers that fetch from it and are not quiet"],
    },
  },
];
