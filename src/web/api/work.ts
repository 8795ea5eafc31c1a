/**
 * The API's routes for workers of other programs: register, take, settle, heartbeat, deregister. docs/reference/worker-protocol.md is
 * their specification.
 *
 * @module
 */
import type { HandlerOptions } from "../../handlers/handler.ts";
import { HandlerError } from "../../handlers/registry.ts";
import { Refused } from "../../operator/actions/action.ts";
import { checkQueueScope } from "../../operator/actions/scope.ts";
import { queueName } from "../../operator/actions/inputs.ts";
import { list, map, object, optional, schemaOf, type Shape } from "../../operator/shapes/shape.ts";
import { any, boolean, choice, integer, number, span, text } from "../../operator/shapes/values.ts";
import { type Gateway, TooManyWorkers, UnknownWorker } from "../../remote/gateway.ts";
import type { RemoteWorker } from "../../remote/remote_worker.ts";
import type { Visitor } from "../auth/gate.ts";
import { HttpError } from "../http/body.ts";
import { objectOf } from "./json.ts";
import type { ApiRoute } from "./route.ts";

/** The version of the protocol. Another one is refused. */
const PROTOCOL = 1;
/** The longest wait for jobs: below the timeouts of common proxies. */
const MAX_WAIT_MS = 30_000;
const MAX_TAKEN = 100;
const MAX_SETTLED = 1_000;

const workerName = text("the worker, as `register` has answered");
const tokenName = text("the token of an attempt, as `take` has answered");

const registerShape = object("", {
  protocol: integer(`the version of the protocol: ${PROTOCOL}`),
  runtime: text("the runtime and its version", { expected: "a text such as python 3.11", matches: /^.{1,80}$/ }),
  client: text("the client and its version", { expected: "a text such as jobs-client 0.1", matches: /^.{1,80}$/ }),
  hostname: text("the machine", { expected: "a name without colons", matches: /^[^\s:]{1,200}$/ }),
  pid: integer("the process ID there", [1]),
  nonce: text("12 random hex digits", { expected: "12 hex digits", matches: /^[0-9a-f]{12}$/ }),
  concurrency: integer("how many jobs it runs at once", [1, 1_000]),
  queues: optional(list("the queues to take from; by default those of its classes", queueName(""))),
  classes: map("its classes, each with its options", any("options, as those of a push")),
  labels: optional(list("words shown with the worker", text(""))),
  running: optional(list(
    "the jobs that it runs already, as `take` gave them: the server before doesn't know this worker any more, or is gone",
    object("", { token: tokenName, payload: text(""), queue: text(""), receipt: text("") }),
  )),
});

const registeredShape = object("", {
  worker: text("its name in the further requests"),
  heartbeatMs: number("how often to send a heartbeat"),
  timeoutMs: number("after this time without a heartbeat its jobs are given to others"),
  running: list("those of the jobs that it ran already and still has", tokenName),
});

const takeShape = object("", {
  worker: workerName,
  take: integer(
    "numbers the request: the same number again returns the same jobs, because the answer may have been lost",
    [1],
  ),
  limit: integer("how many jobs it can begin now", [1, MAX_TAKEN]),
  wait: optional(span("how long to wait for the first job; at most 30s")),
});

const takenShape = object("", {
  jobs: list(
    "the jobs to begin",
    object("", {
      token: tokenName,
      payload: text("the payload, as JSON text: parsing it is left to the client, so that no number loses digits"),
      queue: text("the queue that it was taken from"),
      attempt: integer("the number of the attempt, from 1"),
      receipt: text("proves that the job was given: for `running` of `register`"),
    }),
  ),
});

/** The reports of a job since the last request. */
const reportFields = {
  progress: optional(object("its progress", { done: number("any number"), note: optional(text("a note")) })),
  log: optional(list(
    "lines since the last heartbeat",
    object("", { level: choice(["debug", "info", "warn", "error"], "its level"), message: text("the line") }),
  )),
} as const;

const settleShape = object("", {
  worker: workerName,
  outcomes: list(
    "how attempts have ended",
    object("", {
      token: tokenName,
      end: choice(["succeeded", "failed", "discard", "kill", "snooze", "release"], "how it has ended"),
      result: optional(any("of a job that succeeded")),
      error: optional(object("of a job that failed", {
        class: text("the class of the error"),
        message: text("its message"),
        stack: optional(list("the lines of its stack", text(""))),
      })),
      in: optional(span("of a snooze: when it runs again")),
      ...reportFields,
    }),
  ),
});

const settledShape = object("", {
  lost: list("the tokens of attempts that were no longer this worker's: their ends don't count", tokenName),
});

const heartbeatShape = object("", {
  worker: workerName,
  rss: optional(integer("its resident memory in bytes", [0])),
  wait: optional(span("how long the answer may wait until the worker must know something; at most 30s")),
  running: optional(list(
    "its jobs, also those whose ends aren't answered yet; one that is missing for a whole heartbeat returns to its queue. Absent: unknown",
    object("", {
      token: tokenName,
      ...reportFields,
    }),
  )),
});

const ordersShape = object("", {
  aborted: list(
    "jobs that must end now, and why",
    object("", { token: tokenName, reason: choice(["Cancelled", "Timeout", "Shutdown", "LeaseLost"], "the reason") }),
  ),
  lost: list("jobs that it has lost: their ends don't count", tokenName),
  quiet: boolean("whether it takes no more jobs"),
  stopping: boolean("whether it is to stop: finish or give back its jobs, then deregister"),
});

const deregisterShape = object("", { worker: workerName });

/** The routes. */
export const workRoutes: readonly ApiRoute[] = [
  route({
    path: "/work/register",
    about: "Starts a worker whose handlers run in your program",
    takes: registerShape,
    gives: registeredShape,
    run: async (request, { gateway, visitor }) => {
      if (request.protocol !== PROTOCOL) {
        throw new Refused(
          "invalid",
          `Protocol ${request.protocol} is unknown here; expected ${PROTOCOL}: use a client of this version`,
          { field: "protocol" },
        );
      }
      const id = `${request.hostname}:${request.pid}:${request.nonce}`;
      const classes = request.classes as Readonly<Record<string, HandlerOptions>>;
      if (Object.keys(classes).length === 0) {
        throw new Refused("invalid", "No classes: expected at least one that this worker performs", {
          field: "classes",
        });
      }
      checkScope(visitor, classes, request.queues);
      const given = await gateway.knownJobs(request.running ?? []);
      const starting = gateway.register({
        id,
        ...ownerOf(visitor),
        ...{ hostname: request.hostname, pid: request.pid, concurrency: request.concurrency, classes },
        version: `${request.runtime}, ${request.client}`,
        queues: request.queues ?? [],
        labels: request.labels ?? [],
      }, given);
      const worker = await starting.catch((error) => {
        if (error instanceof HandlerError) throw new Refused("invalid", error.message, { field: "classes" });
        if (error instanceof TooManyWorkers) throw new Refused("unavailable", error.message);
        throw error;
      });
      return { worker: id, ...gateway.times, running: worker.adopted };
    },
  }),
  route({
    path: "/work/take",
    about: "Takes jobs for a worker, and waits for the first one",
    waits: true,
    takes: takeShape,
    gives: takenShape,
    run: async ({ worker, take, limit, wait = 0 }, more) => {
      const jobs = await workerOf(more, worker).take(take, limit, Math.min(wait, MAX_WAIT_MS), more.signal);
      const given = jobs.map(async ({ token, since, job: { raw: payload, queue, attempt } }) => {
        const receipt = await more.gateway.receiptOf({ token, payload, queue, since });
        return { token, payload, queue, attempt, receipt };
      });
      return { jobs: await Promise.all(given) };
    },
  }),
  route({
    path: "/work/settle",
    about: "Ends jobs of a worker; the answer comes when that is stored",
    takes: settleShape,
    gives: settledShape,
    run: async ({ worker, outcomes }, more) => {
      if (outcomes.length > MAX_SETTLED) throw new HttpError(413, `Too many outcomes; expected at most ${MAX_SETTLED}`);
      const ends = outcomes.map(({ in: delayMs, error, ...end }) => ({
        ...end,
        ...(delayMs !== undefined && { delayMs }),
        ...(error && { error: { stack: [], ...error } }),
      }));
      return { lost: await workerOf(more, worker).settle(ends) };
    },
  }),
  route({
    path: "/work/heartbeat",
    about: "Tells that a worker lives, and what it does; answers with what it must know",
    takes: heartbeatShape,
    gives: ordersShape,
    waits: true,
    run: ({ worker, running, rss = 0, wait = 0 }, more) =>
      workerOf(more, worker).beat(running, { rss, waitMs: Math.min(wait, MAX_WAIT_MS), signal: more.signal }),
  }),
  route({
    path: "/work/deregister",
    about: "Stops a worker; its unfinished jobs return to the front of their queues",
    takes: deregisterShape,
    gives: object("", {}),
    run: async ({ worker }, more) => {
      await workerOf(more, worker).stop();
      return {};
    },
  }),
];

interface More {
  readonly gateway: Gateway;
  readonly visitor: Visitor;
  /** Aborts when the client is gone. */
  readonly signal: AbortSignal;
}

interface WorkRoute<T, A> extends Pick<ApiRoute, "path" | "about" | "waits"> {
  readonly takes: Shape<T>;
  readonly gives: Shape<A>;
  readonly run: (given: T, more: More) => Promise<A>;
}

function route<T, A>({ takes, gives, run, ...rest }: WorkRoute<T, A>): ApiRoute {
  return {
    ...rest,
    method: "POST",
    access: "work",
    body: schemaOf(takes),
    answer: schemaOf(gives),
    run: async (c, services) => {
      if (services.gateway === undefined) throw new HttpError(404, "This server has no workers of other programs");
      const given = takes.read(await objectOf(c, services));
      const more = { gateway: await services.gateway(), visitor: c.get("visitor"), signal: c.req.raw.signal };
      return { value: await run(given, more) };
    },
  };
}

/** A visitor without a login has no name. */
function ownerOf({ by, name }: Visitor): { readonly owner?: string } {
  return by === "token" ? { owner: name } : {};
}

/** @throws {HttpError} if there is no such worker, or another user's */
function workerOf({ gateway, visitor }: More, id: string): RemoteWorker {
  try {
    return gateway.worker(id, ownerOf(visitor).owner);
  } catch (error) {
    if (error instanceof UnknownWorker) throw new HttpError(404, error.message, "worker");
    throw error;
  }
}

/** @throws {Refused} if a class or a queue is outside of the scope of the role */
function checkScope(
  { scope }: Visitor,
  classes: Readonly<Record<string, HandlerOptions>>,
  queues?: readonly string[],
): void {
  const other = Object.keys(classes).find((name) => scope?.classes?.includes(name) === false);
  if (other !== undefined) {
    const expected = scope!.classes!.join(", ");
    throw new Refused("forbidden", `Class "${other.slice(0, 80)}" is outside of your role; expected ${expected}`, {
      field: "classes",
    });
  }
  const taken = queues ?? Object.values(classes).map(({ queue = "default" }) => queue);
  for (const queue of taken) checkQueueScope(scope, String(queue), queues ? "queues" : "classes");
}
