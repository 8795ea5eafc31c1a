/**
 * The requests and answers of workers of other programs. docs/reference/worker-protocol.md is their specification.
 *
 * @module
 */
import { queueName } from "../../operator/actions/inputs.ts";
import { list, map, object, optional } from "../../operator/shapes/shape.ts";
import { any, boolean, choice, integer, number, span, text } from "../../operator/shapes/values.ts";

/** One line as a person reads it: without controls, and without characters that hide or reorder others. */
const PLAIN = /^[^\p{C}\p{Zl}\p{Zp}]{1,80}$/u;

/** The version of the protocol. Another one is refused. */
export const PROTOCOL = 1;
/** The longest wait for jobs: below the timeouts of common proxies. */
export const MAX_WAIT_MS = 30_000;
const MAX_TAKEN = 100;
export const MAX_SETTLED = 1_000;
/** Each chunk takes a turn of the event loop: more would hold it for seconds. */
export const MAX_CHUNKS = 1_000;

const workerName = text("the worker, as `register` has answered");
const tokenName = text("the token of an attempt, as `take` has answered");
const takenNumber = optional(
  integer(
    "the number of the last `take` whose answer you don't wait for any more: each of its jobs, and of those before, is in the list or has ended",
    [0],
  ),
);

const performedJid = text("its ID; empty if the program that pushed it gave it none");
const performedClass = text("the class whose handler performs it: that of a wrapper is the wrapped one");

/** A job, as its worker receives and shows it. */
const givenFields = {
  token: tokenName,
  payload: text("the payload, as JSON text: parsing it is left to the client, so that no number loses digits"),
  queue: text("the queue that it was taken from"),
  receipt: text("proves that the job was given: for `running` of `register`"),
  attempt: optional(integer("the number of the attempt, from 1")),
  jid: optional(performedJid),
  class: optional(performedClass),
  batch: optional(text("the ID of the batch that counts the job")),
  node: optional(text("its node, if the batch is a flow")),
  suspect: optional(
    boolean("whether it may have killed another worker: send a heartbeat that lists it before you begin it"),
  ),
} as const;

export const registerShape = object("", {
  protocol: integer(`the version of the protocol: ${PROTOCOL}`),
  runtime: text("the runtime and its version", {
    expected: "a text such as python 3.11",
    matches: PLAIN,
  }),
  client: text("the client and its version", {
    expected: "a text such as jobs-client 0.1",
    matches: PLAIN,
  }),
  hostname: text("the machine", { expected: "a name without colons", matches: /^[^\s:\p{C}\p{Z}]{1,200}$/u }),
  pid: integer("the process ID there", [1]),
  nonce: text("12 random hex digits", { expected: "12 hex digits", matches: /^[0-9a-f]{12}$/ }),
  registration: optional(
    integer(
      "numbers the registrations of this worker: the same number again has no further effect, a lower one is refused",
      [1],
    ),
  ),
  concurrency: integer("how many jobs it runs at once", [1, 1_000]),
  queues: optional(list("the queues to take from; by default those of its classes", queueName(""))),
  classes: map("its classes, each with its options", any("options, as those of a push")),
  labels: optional(list(
    "words shown with the worker",
    text("", { expected: "a word of up to 80 characters, none of which hides or reorders others", matches: PLAIN }),
  )),
  running: optional(list(
    "the jobs that it runs already, as `take` gave them: the server before doesn't know this worker any more, or is gone",
    object("", givenFields),
  )),
  taken: takenNumber,
});

export const registeredShape = object("", {
  worker: text("its name in the further requests"),
  heartbeatMs: number("how often to send a heartbeat"),
  timeoutMs: number("after this time without a heartbeat its jobs are given to others"),
  running: list("those of the jobs that it ran already and still has", tokenName),
});

export const takeShape = object("", {
  worker: workerName,
  take: integer(
    "numbers the request: the same number again returns the same jobs, because the answer may have been lost",
    [1],
  ),
  limit: integer("how many jobs it can begin now", [1, MAX_TAKEN]),
  wait: optional(span("how long to wait for the first job; at most 30s")),
  rss: optional(integer("its resident memory in bytes", [0])),
});

const stateFields = {
  quiet: boolean("whether it takes no more jobs"),
  stopping: boolean("whether it is to stop: finish or give back its jobs, then deregister"),
} as const;

export const takenShape = object("", {
  jobs: list(
    "the jobs to begin",
    object("", {
      ...givenFields,
      attempt: integer("the number of the attempt, from 1"),
      jid: performedJid,
      class: performedClass,
    }),
  ),
  ...stateFields,
});

/** The reports of a job since the last request. */
export const reportFields = {
  progress: optional(object("its progress", { done: number("any number"), note: optional(text("a note")) })),
  log: optional(list(
    "lines since the last report",
    object("", {
      level: choice(["debug", "info", "warn", "error"], "its level"),
      message: text("the line"),
      fields: optional(map("its fields", any(""))),
    }),
  )),
} as const;

/** How a job ends, or the program's part of a step. */
const endFields = {
  end: choice(["succeeded", "failed", "discard", "kill", "snooze", "release"], "how it has ended"),
  result: optional(any("if it succeeded")),
  error: optional(object("if it failed", {
    class: text("the class of the error"),
    message: text("its message"),
    stack: optional(list("the lines of its stack", text(""))),
    causes: optional(list("its causes, a line each: `caused by TypeError: fetch failed`", text(""))),
  })),
  in: optional(span("of a snooze: when it runs again")),
} as const;

export const endShape = object("the end of the part of a step that `run` has asked for", endFields);

export const settleShape = object("", {
  worker: workerName,
  outcomes: list(
    "how attempts have ended",
    object("", {
      token: tokenName,
      ...endFields,
      ...reportFields,
    }),
  ),
});

export const settledShape = object("", {
  lost: list("the tokens of attempts that were no longer this worker's: their ends don't count", tokenName),
});

export const heartbeatShape = object("", {
  worker: workerName,
  rss: optional(integer("its resident memory in bytes", [0])),
  wait: optional(span("how long the answer may wait until the worker must know something; at most 30s")),
  running: optional(list(
    "its jobs, also those whose ends aren't answered yet; with `taken`, one that is missing returns to its queue. Absent: unknown",
    object("", {
      token: tokenName,
      ...reportFields,
    }),
  )),
  taken: takenNumber,
});

export const ordersShape = object("", {
  aborted: list(
    "jobs that must end now, and why",
    object("", { token: tokenName, reason: choice(["Cancelled", "Timeout", "Shutdown", "LeaseLost"], "the reason") }),
  ),
  lost: list("jobs that it has lost: their ends don't count", tokenName),
  ...stateFields,
});

export const deregisterShape = object("", { worker: workerName });

export const streamShape = object("", {
  worker: workerName,
  token: tokenName,
  from: integer("how many chunks of this attempt precede these: the same chunks again change nothing", [0]),
  chunks: list("texts or other values, in order", any("")),
});

export const stepShape = object("", {
  worker: workerName,
  token: tokenName,
  call: integer("numbers the request within the attempt: the same number again returns the same answer", [1]),
  kind: choice(
    ["step", "sleep", "wait", "cursor", "child", "results", "member"],
    "`step`: a part that runs once. `sleep`, `wait` (for a signal), `child` (for another job): continue the job later. `cursor`: reads, or " +
      "stores, the cursor of a loop. `results`: of nodes of the flow. `member`: pushes into the job's batch",
  ),
  name: optional(text("of the step; names it within the job")),
  options: optional(map(
    "of a step: `each`, `retry`, `backoff`, `timeout`; of a wait: `key`, `timeout`, `example`; of a child: those of a push, and `giveUpAfter`; " +
      "of a member: those of a push",
    any(""),
  )),
  duration: optional(any("of a sleep: seconds or a duration")),
  cursor: optional(any("to store; absent: it is returned")),
  class: optional(text("of a child or a member")),
  args: optional(list("of a child or a member", any(""))),
  nodes: optional(list("whose results are returned; by default those before this one", text(""))),
  result: optional(endShape),
  ...reportFields,
});

export const stepAnswerShape = object("one of its fields", {
  run: optional(object("run the part now, and send its `result` with the same request", {
    attempt: integer("the number of the attempt of the step, from 1"),
    idempotencyKey: text("the same in each attempt, for other systems"),
    timeoutMs: optional(number("the part fails after this time")),
  })),
  done: optional(
    object("it is done", { value: optional(any("its value; absent if it has none, or a wait has timed out")) }),
  ),
  failed: optional(object("it has failed for good, for the handler to catch", {
    class: text("`StepFailed`, `ChildFailed`, or the class of the error"),
    message: text("its message"),
    final: optional(
      boolean("the step or its child has failed for good: a job whose handler doesn't catch it ends with `kill`"),
    ),
  })),
  ends: optional(boolean("the attempt ends: leave the handler, and settle the job; its end counts for nothing")),
});
