/**
 * What every command prints with `--json`: the table that docs/json.md is made from, and that a test holds each command
 * to. A field that is in it stays, with its meaning; new ones may come.
 *
 * @module
 */

/**
 * A field's path → what it holds. `[]` is each element of a list, `{}` each value of an object by name, `?` at the end
 * says that it is left out where there is nothing to say. What is of type `any` is not described further.
 */
export type Fields = Readonly<Record<string, readonly [type: string, about: string]>>;

/** What one command prints. */
export interface Shape {
  /** As it is typed, without `--json`. */
  readonly command: string;
  readonly prints: "an object" | "a list of objects" | "an object a line" | "an object by jid";
  readonly fields: Fields;
  /** More to say. */
  readonly note?: string;
}

function under(prefix: string, fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).map(([path, about]) => [`${prefix}.${path}`, about]));
}

const ENTRY: Fields = {
  "jid?": ["text", "the job's id; absent where the payload cannot be read"],
  "class?": ["text", "its class, as people know it"],
  "place": ["text", "`queue`, `scheduled`, `retry`, `dead` or `running`"],
  "queue?": ["text", "the queue that it is in, or goes to"],
  "at?": ["time", "scheduled, retry: when it is due; dead: when it died; running: when it was taken"],
  "owner?": ["text", "running: the process that has it"],
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

const QUEUE: Fields = {
  "name": ["text", "the queue; `*` stands for all of them, where they are paused"],
  "size": ["number", "jobs in it"],
  "latencyMs": ["number", "age of its oldest job; 0 when it is empty"],
  "paused": ["boolean", "whether nothing is taken from it"],
  "pausedForMs?": ["number", "how long still; absent where until it is resumed"],
};

const PAGE: Fields = {
  "entries": ["list", "the jobs, in order"],
  ...under("entries[]", ENTRY),
  "next?": ["text", "the `--cursor` of the next page; absent on the last"],
};

const RECORD: Fields = {
  "scheduledAt": ["time", "the occurrence"],
  "decidedAt": ["time", "when it was decided what becomes of it"],
  "outcome": ["text", "`enqueued`, `manual`, `skipped`, `missed`, …"],
  "jid?": ["text", "the job that was enqueued"],
  "reason?": ["text", "why it was not"],
  "count?": ["number", "how many occurrences this stands for"],
  "first?": ["time", "the first of them"],
};

const edited = (verb: string): Fields => ({
  [verb]: ["number", "how many jobs it was done to"],
  "missed": ["list of texts", "the jids it was not done to"],
});

/** The table, by command in the order of `jobs help`. */
export const SHAPES: readonly Shape[] = [
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
      "position?": ["any", "in a queue: 1 for the job that is taken next; a text where it is far from that"],
      "progress?": ["text", "running: how far it says it is"],
      "lastLine?": ["text", "running: the last line it logged"],
      "log?": ["list of texts", "running: the last lines it logged"],
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
    fields: { "queue": ["text", "the queue"], "cleared": ["number", "how many jobs were deleted"] },
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
  {
    command: "jobs move",
    prints: "an object",
    fields: { "jobs": ["number", "how many were moved"], "cron": ["number", "entries of the crontab moved"] },
  },
  { command: "jobs web --new-user NAME", prints: "an object", fields: { "user": ["text", "a line for `web.users`"] } },
  {
    command: "jobs web --new-token NAME",
    prints: "an object",
    fields: { "token": ["text", "the token, shown this once"], "user": ["text", "a line for `web.users`"] },
  },
  {
    command: "jobs bench",
    prints: "an object",
    fields: {
      "store": ["text", "what the store runs on"],
      "cores": ["number", "of this machine"],
      "jobs": ["number", "pushed in bulk, and performed"],
      "concurrency": ["number", "how many at once"],
      "pushOne": ["object", "pushes, one after the other"],
      "pushOne.perSecond": ["number", "how many a second"],
      "pushOne.p50Ms": ["number", "half took at most so long"],
      "pushOne.p99Ms": ["number", "99 of 100 did"],
      "pushBulk": ["object", "pushes, 1,000 at a time"],
      "pushBulk.perSecond": ["number", "jobs a second"],
      "perform": ["object", "performing them in one process"],
      "perform.perSecond": ["number", "jobs a second"],
      "start": ["object", "from the push to the start, in a process that is idle"],
      "start.p50Ms": ["number", "half took at most so long"],
      "start.p99Ms": ["number", "99 of 100 did"],
    },
  },
  {
    command: "jobs doctor",
    prints: "an object",
    fields: {
      "findings": ["list", "what was looked at"],
      "findings[].check": [
        "text",
        "`settings`, `handlers`, `cron`, `files`, `store`, `clock`, `processes`, `queues` or `jobs`",
      ],
      "findings[].state": ["text", "`ok`, `warning` or `failed`"],
      "findings[].message": ["text", "what was found"],
      "findings[].cure?": ["text", "what to do about it"],
      "settings": ["list", "every setting in force"],
      "settings[].key": ["text", "its key in the configuration"],
      "settings[].value?": ["any", "its value; durations in milliseconds; secrets as `***`"],
      "settings[].origin": ["text", "`default`, a file, a variable, or `flag`"],
    },
  },
  {
    command: "jobs doctor --ready",
    prints: "an object",
    fields: { "ready": ["boolean", "whether it is"], "why?": ["text", "why not"] },
  },
  {
    command: "jobs version",
    prints: "an object",
    fields: {
      "jobs": ["text", "the version"],
      "commit?": ["text", "what it was compiled from"],
      "deno": ["text", "the runtime in it"],
      "v8": ["text", "its engine"],
      "target": ["text", "the platform"],
    },
  },
];

function optional(path: string): string {
  return path.endsWith("?") ? path : `${path}?`;
}
