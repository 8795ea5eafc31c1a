/**
 * The output of the commands about workers and counts, with `--json`.
 *
 * @module
 */
import { type Fields, QUEUE, type Shape, under } from "./json_shape.ts";

const COUNTS: Fields = {
  "processed": ["number", "jobs processed since the beginning, failures included"],
  "failed": ["number", "of those, failures"],
  "queued": ["number", "queued jobs"],
  "running": ["number", "running jobs"],
  "scheduled": ["number", "scheduled jobs"],
  "retrying": ["number", "failed jobs that are retried"],
  "dead": ["number", "dead jobs"],
  "sleepingSteps": ["number", "durable steps that sleep, also those of dead jobs"],
  "waitingSteps": ["number", "durable steps that wait for a signal or a child, also those of dead jobs"],
  "workers": ["number", "online workers"],
  "queues": ["list", "by name"],
  ...under("queues[]", QUEUE),
};

/** In the order of `jobs help`. */
export const STATE_SHAPES: readonly Shape[] = [
  {
    command: "jobs workers",
    prints: "an object",
    fields: {
      "workers": ["list", "online and offline workers"],
      ...under("workers[]", {
        "id": ["text", "`hostname:pid:nonce`"],
        "hostname": ["text", "the machine"],
        "pid": ["number", "its process ID there"],
        "tag": ["text", "its label; may be empty"],
        "labels": ["list of texts", "more labels"],
        "state": ["text", "`running`, `quiet`, `stopping`, `blocked` (a handler blocks its event loop) or `offline`"],
        "queues": ["list of texts", "the queues that it processes"],
        "weights": ["any", "queue → weight; all 0 if strict"],
        "concurrency": ["number", "maximum of jobs that it runs at once"],
        "version": ["text", "of jobs"],
        "startedAt": ["time", "when it started"],
        "heartbeatAt": ["time", "its last heartbeat"],
        "blocked?": [
          "any",
          "while its event loop is blocked: `since`, and `processor`, `class` and `jid` of the job if it is known",
        ],
        "running": ["number", "jobs that it runs"],
        "memoryBytes": ["number", "resident memory"],
        "jobs": ["list", "the jobs that it runs"],
        "jobs[].processor?": ["text", "the processor"],
        "jobs[].jid?": ["text", "the job"],
        "jobs[].class?": ["text", "its class"],
        "jobs[].queue?": ["text", "its queue"],
        "jobs[].startedAt?": ["time", "when it started"],
        "jobs[].progress?": ["text", "its progress"],
        "jobs[].lastLine?": ["text", "its last log line"],
        "jobs[].abortReason?": ["text", "its signal has aborted: `Cancelled`, `Timeout`, `Shutdown` or `LeaseLost`"],
        "jobs[].log?": ["list of texts", "its last log lines"],
        "totals?": ["any", "class → `succeeded`, `failed`, `cancelled`, `expired`, `timeSpentMs`"],
      }),
    },
  },
  {
    command: "jobs stats",
    prints: "an object",
    fields: {
      ...COUNTS,
      "history?": ["list", "with `--history`: the last days (UTC), the earliest first"],
      "history[].day?": ["text", "`YYYY-MM-DD`"],
      "history[].processed?": ["number", "jobs processed on that day, failures included"],
      "history[].failed?": ["number", "of those, failures"],
    },
  },
  {
    command: "jobs top --once",
    prints: "an object",
    fields: {
      "stats": ["any", "as `jobs stats` prints it"],
      "workers": ["any", "the list that `jobs workers` prints"],
      "batches": ["any", "the latest unfinished ones, as `jobs batch list` and `jobs flow list` print them"],
    },
  },
];
