/**
 * What the commands print with `--json` that tell of processes and counts.
 *
 * @module
 */
import { QUEUE, type Shape, under } from "./json_shape.ts";

/** In the order of `jobs help`. */
export const STATE_SHAPES: readonly Shape[] = [
  {
    command: "jobs ps",
    prints: "a list of objects",
    fields: {
      "identity": ["text", "`hostname:pid:nonce`"],
      "hostname": ["text", "the machine"],
      "pid": ["number", "its process number there"],
      "tag": ["text", "a word shown beside it; may be empty"],
      "labels": ["list of texts", "more of them"],
      "queues": ["list of texts", "the queues it takes from"],
      "weights": ["any", "queue → weight; all 0 when strict"],
      "concurrency": ["number", "how many jobs it performs at once"],
      "version": ["text", "of jobs"],
      "startedAt": ["ms", "when it started"],
      "quiet": ["boolean", "takes nothing new"],
      "busy": ["number", "jobs running now"],
      "rss": ["number", "resident memory in bytes"],
      "work": ["list", "what it performs now"],
      "work[].task?": ["text", "the processor"],
      "work[].queue?": ["text", "the queue it was taken from"],
      "work[].payload?": ["text", "the payload's text"],
      "work[].since?": ["ms", "when it started"],
      "work[].progress?": ["text", "how far it says it is"],
      "work[].lastLine?": ["text", "the last line it logged"],
      "work[].log?": ["list of texts", "the last lines it logged"],
      "totals?": ["any", "class → `done`, `failed`, `cancelled`, `expired`, `workedMs`"],
      "beatAt": ["ms", "when it last said that it is alive"],
      "alive": ["boolean", "false: its time is over and nobody has cleared it away yet"],
      "*?": ["any", "more that the process tells of itself"],
    },
  },
  {
    command: "jobs stats",
    prints: "an object",
    fields: {
      "processed": ["number", "jobs performed since the beginning, failures included"],
      "failed": ["number", "of those, how many failed"],
      "enqueued": ["number", "jobs in all queues"],
      "scheduled": ["number", "jobs to run later"],
      "retry": ["number", "failed jobs to run again"],
      "dead": ["number", "jobs that failed for good"],
      "leased": ["number", "jobs that processes have taken and not finished"],
      "processes": ["number", "live processes"],
      "queues": ["list", "by name"],
      ...under("queues[]", QUEUE),
      "history?": ["list", "with `--history`: the last days (UTC), the earliest first"],
      "history[].day?": ["text", "`YYYY-MM-DD`"],
      "history[].processed?": ["number", "jobs performed on that day, failures included"],
      "history[].failed?": ["number", "of those, how many failed"],
    },
  },
  {
    command: "jobs top --once",
    prints: "an object",
    fields: {
      "stats": ["any", "as `jobs stats` prints it"],
      "processes": ["any", "as `jobs ps` prints it"],
    },
  },
];
