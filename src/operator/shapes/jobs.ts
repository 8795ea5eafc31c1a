/**
 * Jobs that haven't finished.
 *
 * @module
 */
import { list, named, nullable, object, oneOf, optional } from "./shape.ts";
import { finishedShape } from "./finished.ts";
import { nodeShape } from "./batches.ts";
import { stepShape } from "./steps.ts";
import { any, boolean, choice, integer, NEXT, text, time } from "./values.ts";

const PROGRESS = optional(text("running: its progress"));

/** A job in one place. */
export const jobShape = object("", {
  jid: optional(text("the job's ID; absent if the payload is unreadable")),
  class: optional(text("its class")),
  state: choice(["queued", "scheduled", "retrying", "dead", "running", "waiting"], ""),
  queue: optional(text("the queue that it is in or returns to")),
  createdAt: optional(time("when it was pushed")),
  enqueuedAt: optional(time("when it entered its queue")),
  dueAt: optional(time("scheduled, retrying: when it is due")),
  diedAt: optional(time("dead: when it died")),
  startedAt: optional(time("running: when a worker fetched it")),
  worker: optional(text("running: the worker; with `jobs show` also of the last failed attempt")),
  cancelled: optional(
    boolean("running: true once it is cancelled; if its worker doesn't end it, the next rescue does"),
  ),
  failures: optional(integer("how often it has failed; absent if the payload is unreadable")),
  progress: PROGRESS,
  lastLine: optional(text("running: its last log line")),
  error: optional(object("its last failure", {
    class: text("the error's class"),
    message: text("its message"),
    backtrace: optional(list(
      "its stack trace: 10 lines, or as many as the job keeps (`backtrace`); all if `jobs show` finds the record of a dead job",
      text(""),
    )),
    output: optional(
      list(
        "the last lines that a failed program printed, on stdout and stderr; retrying: or that its handler logged",
        text(""),
      ),
    ),
  })),
  flow: optional(text("waiting: its flow")),
  node: optional(text("waiting: its node")),
  after: optional(list("waiting: the nodes before it", text(""))),
  waitsFor: optional(integer("waiting: nodes that it still waits for")),
  changedAt: optional(time("waiting: since when")),
  payload: any("the payload as an object; its text if it is unreadable"),
});

/** Jobs, in order. */
export const jobPageShape = object("", {
  jobs: list("the jobs, in order", jobShape),
  runInSidekiq: optional(integer("running: how many more run in workers of Sidekiq; absent without any")),
  signals: optional(integer("scheduled: durable steps that wait for a signal, as `jobs list signals` lists them")),
  next: NEXT,
});

/** Jobs that a search found. */
export const foundShape = object("", {
  jobs: list("jobs that haven't finished", jobShape),
  finished: list("finished jobs", finishedShape),
  more: boolean("whether there are more than the limit"),
});

const WHY = list(
  "why it isn't running, or hasn't ended yet, the nearest reason first; empty if nothing is conspicuous",
  text(""),
);
const POSITION = oneOf(
  "queued: 1 for the job that is fetched next; a text if it is far from that",
  integer(""),
  text(""),
);
const LOG = optional(list("running: its last log lines", text("")));

/** A job with everything that is known about it. */
export const shownJobShape = object("", {
  ...jobShape.fields,
  why: WHY,
  position: optional(POSITION),
  abortReason: optional(text("running: its signal has aborted: `Cancelled`, `Timeout`, `Shutdown` or `LeaseLost`")),
  log: LOG,
  steps: optional(list("its durable steps, as `jobs steps` prints them", stepShape)),
});

const {
  flow: _flow,
  node: _node,
  after: _after,
  waitsFor: _waitsFor,
  changedAt: _changedAt,
  lastLine: _lastLine,
  ...inPlace
} = jobShape.fields;

/** A job in the HTTP API. */
export const apiJobShape = named(
  "Job",
  object("A job in one place, as `jobs list --json` prints it. Secrets are masked.", {
    ...inPlace,
    ref: text("identifies this entry until it moves to another place"),
    place: text("`scheduled`, `retry`, `dead`, `running` or `queue:NAME`"),
    why: optional(list(`with a jid: ${WHY.about}`, text(""))),
    position: optional({ ...POSITION, about: `with a jid, ${POSITION.about}` }),
    progress: optional(text("with a jid, running: its progress")),
    log: optional(list("with a jid, running: its last log lines", text(""))),
  }),
);

/** Jobs in the HTTP API. */
export const apiJobPageShape = object("", {
  jobs: list("the jobs, in order", apiJobShape),
  next: NEXT,
  looked: integer("how many jobs were read for this page"),
});

/** A job in each of its places, in the HTTP API. */
export const apiShownJobShape = object("", {
  jobs: list("the job in each of its places, usually one", apiJobShape),
  finished: optional(finishedShape),
  waiting: optional(object("a node that waits in a flow, and the flow", {
    flow: text("the flow's ID"),
    ...nodeShape.fields,
  })),
});

/** The result of a job, in the HTTP API. */
export const resultShape = object("", {
  finished: nullable({ ...finishedShape, about: "null if the job has not ended, or its result has expired" }),
});

/** Failed jobs, grouped. */
export const errorsShape = object("", {
  groups: list(
    "failed jobs by class and error, the largest group first",
    object("", {
      class: text("the class"),
      error: text("`ErrorClass: message`, with `*` for the parts that vary"),
      dead: integer("dead jobs"),
      retrying: integer("retrying jobs"),
      firstAt: optional(time("the first failure of any of its jobs, which may have had another error")),
      lastAt: optional(time("the last failure")),
      jid: optional(text("the job that failed last")),
    }),
  ),
  more: boolean("whether there are more than the limit"),
  total: integer("how many groups there are"),
  ungrouped: integer("jobs in no group, because there are too many different errors"),
});
