/**
 * The API's routes for workers of other programs: register, take, settle, heartbeat, step, stream, deregister. docs/reference/worker-protocol.md is
 * their specification.
 *
 * @module
 */
import type { HandlerOptions } from "../../handlers/handler.ts";
import { meantOption } from "../../job/option_names.ts";
import { HandlerError } from "../../handlers/registry.ts";
import { chunkText } from "../../handlers/stream_writer.ts";
import { suspicionLevel } from "../../job/suspicion.ts";
import { Refused } from "../../operator/actions/action.ts";
import { checkPerforms } from "../../operator/actions/scope.ts";
import { object, schemaOf, type Shape } from "../../operator/shapes/shape.ts";
import type { Gateway } from "../../remote/gateway.ts";
import {
  ForeignWorker,
  GatewayClosed,
  LateRegistration,
  TooManyWorkers,
  UnknownWorker,
} from "../../remote/refusals.ts";
import type { RemoteWorker } from "../../remote/remote_worker.ts";
import type { Visitor } from "../auth/gate.ts";
import { HttpError } from "../http/body.ts";
import type { Services } from "../services.ts";
import { objectOf } from "./json.ts";
import type { ApiRoute } from "./route.ts";
import { checkNewQueues, checkOwnClasses, permitted, queuesWithin } from "./work_scope.ts";
import * as shapes from "./work_shapes.ts";

/** The routes. */
export const workRoutes: readonly ApiRoute[] = [
  route({
    path: "/work/register",
    about: "Starts a worker whose handlers run in your program",
    takes: shapes.registerShape,
    gives: shapes.registeredShape,
    run: async (request, { gateway, visitor, services }) => {
      if (request.protocol !== shapes.PROTOCOL) {
        throw new Refused(
          "invalid",
          `Protocol ${request.protocol} is unknown here; expected ${shapes.PROTOCOL}: use a client of this version`,
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
      checkOptions(classes);
      const queues = queuesWithin(visitor, classes, request.queues);
      const within = visitor.scope?.classes === undefined ? visitor.scope?.queues : undefined;
      await checkNewQueues(services, visitor, classes);
      // A worker that continues keeps its jobs. Its options don't replace those of others.
      if (within !== undefined && request.running === undefined) {
        await checkOwnClasses(services, within, Object.keys(classes));
      }
      const given = request.running && await gateway.knownJobs(request.running);
      const starting = gateway.register({
        id,
        ...ownerOf(visitor),
        ...{ hostname: request.hostname, pid: request.pid, concurrency: request.concurrency, classes },
        version: `${request.runtime}, ${request.client}`,
        ...{ queues, labels: request.labels ?? [] },
        ...(within !== undefined && { within }),
      }, { given, taken: request.taken, registration: request.registration });
      const worker = await starting.catch(refuse);
      return { worker: id, ...gateway.times, running: worker.adopted };
    },
  }),
  route({
    path: "/work/take",
    about: "Takes jobs for a worker, and waits for the first one",
    waits: true,
    takes: shapes.takeShape,
    gives: shapes.takenShape,
    run: async ({ worker, take, limit, wait = 0, rss }, more) => {
      const owner = workerOf(more, worker);
      if (rss !== undefined) owner.rss = rss;
      const jobs = await owner.take(take, limit, Math.min(wait, shapes.MAX_WAIT_MS), more.signal);
      const given = jobs.map(async ({ token, since, job }) => {
        const { raw: payload, queue, attempt, jid, class: className, batch, flow } = job;
        const receipt = await more.gateway.receiptOf({ token, payload, queue, since });
        const member = { ...(batch && { batch: batch.id }), ...(flow && { node: flow.node }) };
        const suspect = suspicionLevel(payload) > 0 && { suspect: true };
        return { token, payload, queue, attempt, receipt, jid, class: className, ...member, ...suspect };
      });
      return { jobs: await Promise.all(given), ...owner.state };
    },
  }),
  route({
    path: "/work/settle",
    about: "Ends jobs of a worker; the answer comes when that is stored",
    takes: shapes.settleShape,
    gives: shapes.settledShape,
    run: async ({ worker, outcomes }, more) => {
      if (outcomes.length > shapes.MAX_SETTLED) {
        throw new HttpError(413, `Too many outcomes; expected at most ${shapes.MAX_SETTLED} in a request`, "outcomes");
      }
      const ends = outcomes.map((end, i) => endOf(end, `outcomes[${i}]`));
      return { lost: await ask(more, worker, (owner) => owner.settle(ends)) };
    },
  }),
  route({
    path: "/work/heartbeat",
    about: "Tells that a worker lives, and what it does; answers with what it must know",
    takes: shapes.heartbeatShape,
    gives: shapes.ordersShape,
    waits: true,
    run: ({ worker, running, taken, rss = 0, wait = 0 }, more) => {
      const waitMs = Math.min(wait, shapes.MAX_WAIT_MS);
      return workerOf(more, worker).beat(running, { rss, taken, waitMs, signal: more.signal });
    },
  }),
  route({
    path: "/work/step",
    about: "Performs a durable step of a job, or another use of its context",
    takes: shapes.stepShape,
    gives: shapes.stepAnswerShape,
    waits: true,
    run: async ({ worker, token, call, result, progress, log, ...given }, more) => {
      const report = { token, ...(progress && { progress }), ...(log && { log }) };
      const request = await permitted(given, more);
      const part = result && endOf(result, "result");
      const answer = await ask(more, worker, (owner) => owner.use(report, call, request, part));
      if (answer === undefined) throw lost(token);
      return answer;
    },
  }),
  route({
    path: "/work/stream",
    about: "Adds chunks to the stream of a job; answers when there is room for more",
    takes: shapes.streamShape,
    gives: object("", {}),
    waits: true,
    run: async ({ worker, token, from, chunks }, more) => {
      if (chunks.length > shapes.MAX_CHUNKS) {
        throw new HttpError(413, `Too many chunks; expected at most ${shapes.MAX_CHUNKS} in a request`, "chunks");
      }
      for (const [i, chunk] of chunks.entries()) checkChunk(chunk, `chunks[${i}]`);
      if (await ask(more, worker, (owner) => owner.stream(token, from, chunks))) return {};
      throw lost(token);
    },
  }),
  route({
    path: "/work/deregister",
    about: "Stops a worker; its unfinished jobs return to the front of their queues",
    takes: shapes.deregisterShape,
    gives: object("", {}),
    run: async ({ worker }, more) => {
      await more.gateway.deregister(workerOf(more, worker));
      return {};
    },
  }),
];

interface More {
  readonly services: Services;
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
      const visitor = c.get("visitor");
      checkPerforms(visitor);
      const given = takes.read(await objectOf(c, services));
      const gateway = await services.gateway().catch(refuse);
      const more = { services, gateway, visitor, signal: c.req.raw.signal };
      return { value: await run(given, more) };
    },
  };
}

/** Refuses a request for the reason that the gateway has. */
function refuse(error: unknown): never {
  if (error instanceof HandlerError) throw new Refused("invalid", error.message, { field: "classes" });
  if (error instanceof TooManyWorkers || error instanceof GatewayClosed) {
    throw new Refused("unavailable", error.message);
  }
  if (error instanceof ForeignWorker) throw new Refused("forbidden", error.message, { field: "nonce" });
  if (error instanceof LateRegistration) throw new HttpError(409, error.message, "registration");
  throw error;
}

/** The error of a request for a job that the worker doesn't run. */
function lost(token: string): HttpError {
  const cure = "it runs elsewhere or has ended: leave its handler";
  return new HttpError(409, `Job of token "${token}" isn't this worker's any more; ${cure}`, "token");
}

/** @throws {Refused} if a snooze has no time: it would run again at once, for good */
function endOf<E extends { readonly end: string; readonly in?: number }>(
  { in: delayMs, ...end }: E,
  at: string,
): Omit<E, "in"> & { delayMs?: number } {
  if (end.end === "snooze" && delayMs === undefined) {
    const field = `${at}.in`;
    throw new Refused("invalid", `Missing field "${field}": expected when a snooze runs again, for example "5m"`, {
      field,
    });
  }
  return { ...end, ...(delayMs !== undefined && { delayMs }) };
}

/** @throws {Refused} if a chunk of a stream is too large */
function checkChunk(chunk: unknown, at: string): void {
  try {
    chunkText(chunk);
  } catch (error) {
    throw new Refused("invalid", `${at}: ${(error as Error).message}`, { field: at });
  }
}

/** A visitor without a login has no name. */
function ownerOf({ by, name }: Visitor): { readonly owner?: string } {
  return by === "open" ? {} : { owner: name };
}

/**
 * Asks a worker about its jobs. One that is left meanwhile has lost them, but not its program: that continues with them at its next
 * registration, and repeats the request.
 *
 * @throws {HttpError} if there is no such worker, or it was left
 */
async function ask<T>(more: More, id: string, about: (owner: RemoteWorker) => Promise<T>): Promise<T> {
  const owner = workerOf(more, id);
  const answer = await about(owner);
  if (owner.isLeft) throw new HttpError(503, `Worker "${id}" was left by this server meanwhile; try again`);
  return answer;
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

/** @throws {Refused} if the name of an option is close to a known one: it would have no effect */
function checkOptions(classes: Readonly<Record<string, HandlerOptions>>): void {
  for (const [name, options] of Object.entries(classes)) {
    if (typeof options !== "object" || options === null || Array.isArray(options)) {
      throw new Refused("invalid", `Invalid options of class "${name}": expected an object, such as {"retry": 5}`, {
        field: "classes",
      });
    }
    for (const option of Object.keys(options)) {
      const meant = meantOption(option, "class");
      if (meant === undefined) continue;
      throw new Refused("invalid", `Unknown option "${option}" of class "${name}": did you mean "${meant}"?`, {
        field: "classes",
      });
    }
  }
}
