/**
 * A client for tests. It keeps pushed jobs, batches and flows in memory, and runs them on a clock that it moves, without a
 * store, a worker or waiting. Use `testJob` for handlers with durable steps.
 *
 * @module
 */
import { Client } from "../client/client.ts";
import type { PushMiddleware } from "../client/middleware.ts";
import type { JobContext } from "../handlers/context.ts";
import type { JobDefinition } from "../handlers/handler.ts";
import { RunningJob } from "../handlers/running_job.ts";
import { decide } from "../job/backoff.ts";
import { checkJobClass, type JobClass } from "../job/definition.ts";
import { parseDuration } from "../job/duration.ts";
import { describeError } from "../job/describe_error.ts";
import { failedPayload } from "../job/failure.ts";
import { type Job, parsePayload, type Payload } from "../job/job.ts";
import { isExpired } from "../job/time.ts";
import type { Log } from "../log/log.ts";
import type { MemberLease } from "../job/batch.ts";
import type { Membership } from "./memory_batches.ts";
import { type MemoryEntry, MemoryJobs } from "./memory_jobs.ts";
import { TestClock } from "./test_clock.ts";

/** A job that was pushed to a {@linkcode FakeClient}. */
export interface PushedJob<Args extends readonly unknown[] = readonly unknown[]> {
  /** The ID of the job. */
  readonly jid: string;
  /** The class whose handler performs the job. */
  readonly class: string;
  /** The handler's arguments. */
  readonly args: Args;
  /** The queue: that of the push, or else of the class, or else `default`. */
  readonly queue: string;
  /** When the job runs, or ran. */
  readonly at: Date;
  /** The current payload. */
  readonly payload: Payload;
  /** `pending` until {@linkcode FakeClient.drain} runs it; `dead` when its retries are exhausted. */
  readonly state: "pending" | "succeeded" | "discarded" | "expired" | "dead";
  /** The value that the handler returned. */
  readonly result?: unknown;
  /** The error of the last attempt. */
  readonly error?: unknown;
}

/** Options of {@linkcode fakeClient}. */
export interface FakeClientOptions {
  /** The classes whose jobs {@linkcode FakeClient.drain} runs. */
  // deno-lint-ignore no-explicit-any -- definitions with any arguments
  readonly jobs?: readonly JobDefinition<any>[];
  /** The initial time of its clock. Default: 2026-01-01T00:00:00Z. */
  readonly now?: Date;
  /** Wraps each push. */
  readonly middleware?: readonly PushMiddleware[];
}

/** A client whose jobs stay in memory. */
export class FakeClient extends Client {
  readonly #clock: TestClock;
  readonly #memory: MemoryJobs;
  // deno-lint-ignore no-explicit-any -- definitions with any arguments
  readonly #jobs: ReadonlyMap<string, JobDefinition<any>>;
  /** The messages that handlers logged. */
  readonly logged: string[] = [];

  /** See {@linkcode fakeClient}. */
  constructor({ jobs = [], now = new Date("2026-01-01T00:00:00Z"), middleware = [] }: FakeClientOptions = {}) {
    const clock = new TestClock(now.getTime());
    const memory = new MemoryJobs(clock);
    super({
      store: { jobs: memory, batches: memory.batches, flows: memory.batches },
      clock,
      jobs,
      middleware,
      onUnregistered: () => {},
    });
    this.#clock = clock;
    this.#memory = memory;
    this.#jobs = new Map(jobs.map((job) => [job.class, job]));
  }

  /** The time of its clock. */
  get now(): Date {
    return new Date(this.#clock.now());
  }

  /** Returns the jobs of a class that were pushed, in order, with their state. */
  // deno-lint-ignore no-explicit-any -- the definition has the types of the arguments
  pushed<Args extends readonly any[]>(definition: JobClass<Args>): PushedJob<Args>[];
  /** Returns all jobs that were pushed, or those of a class by its name. */
  pushed(className?: string): PushedJob[];
  // deno-lint-ignore no-explicit-any -- as above
  pushed(job?: string | JobClass<any>): PushedJob[] {
    if (typeof job === "function") checkJobClass(job, "class");
    const name = typeof job === "function" ? job.class : job;
    return this.#memory.entries.map(shown).filter((pushed) => name === undefined || pushed.class === name);
  }

  /**
   * Runs due jobs in the order of their times, including the jobs that these push, retries and snoozed jobs. The clock
   * advances to the time of each job, and in the end to `until`.
   *
   * @param options.until the time to advance to: a duration such as `7d`, or a Date. Default: now
   * @returns the number of attempts
   * @throws {Error} if the class of a job is not among the client's `jobs`, or after 10,000 attempts
   */
  async drain({ until }: { readonly until?: number | string | Date } = {}): Promise<number> {
    const end = until instanceof Date
      ? until.getTime()
      : this.#clock.now() + (until === undefined ? 0 : parseDuration(String(until)));
    let attempts = 0;
    for (let entry = this.#memory.next(end); entry; entry = this.#memory.next(end)) {
      if (++attempts > MAX_ATTEMPTS) throw new Error(`More than ${MAX_ATTEMPTS} attempts: a job pushes itself forever`);
      this.#clock.pass(Math.max(0, entry.dueAt - this.#clock.now()));
      await this.#run(entry);
    }
    this.#clock.pass(Math.max(0, end - this.#clock.now()));
    return attempts;
  }

  async #run(entry: MemoryEntry): Promise<void> {
    const job = parsePayload(entry.raw)!;
    const definition = this.#jobs.get(job.class);
    if (definition === undefined) {
      throw new Error(`No handler for class "${job.class}": add it to fakeClient({ jobs: [...] })`);
    }
    const { running } = this.#memory.batches;
    running.add(job.jid);
    await this.#perform(entry, job, definition);
    running.delete(job.jid);
    const { batch } = job.payload;
    if (typeof batch === "string") this.#memory.batches.advance(batch);
  }

  // deno-lint-ignore no-explicit-any -- a definition with any arguments
  async #perform(entry: MemoryEntry, job: Job, definition: JobDefinition<any>): Promise<void> {
    if (isExpired({ ...job.payload, enqueued_at: entry.dueAt / 1_000 }, this.#clock.now())) {
      entry.state = "expired";
      return;
    }
    this.#memory.running = entry;
    try {
      entry.result = await definition(this.#contextOf(job, entry.queue), ...job.args);
      entry.state = "succeeded";
      this.#memory.unlock(job.jid);
    } catch (error) {
      entry.error = error;
      await this.#fail(entry, job, error, definition.options);
    } finally {
      this.#memory.running = undefined;
    }
  }

  async #fail(entry: MemoryEntry, job: Job, error: unknown, options: Readonly<Record<string, unknown>>): Promise<void> {
    const decision = await decide({
      payload: job.payload,
      error,
      options,
      maxRetries: 25,
      now: this.#clock.now(),
      random: () => 0.5,
      onOptionError: (optionError) => {
        throw optionError;
      },
      onInvalidChoice: (problem) => {
        throw new TypeError(`retryIn of ${job.class} returned ${problem}`);
      },
    });
    if (decision.kind === "retry") {
      const facts = { error: describeError(error), queue: entry.queue, now: this.#clock.now(), wire: 7 } as const;
      entry.raw = failedPayload(job, facts);
    }
    if (decision.kind === "retry" || decision.kind === "snooze") {
      entry.dueAt = this.#clock.now() + decision.delayMs;
      return;
    }
    entry.state = decision.kind === "dead" && decision.keep ? "dead" : "discarded";
    this.#memory.unlock(job.jid);
  }

  #contextOf(job: Job, queue: string): JobContext {
    return new RunningJob(job, queue, { log: logInto(this.logged), client: this }, leaseOf(job.jid)).context;
  }

  /** @internal Makes a job that a test calls directly a member of a batch or a flow. Returns the fields of its payload. */
  static enroll(client: Client, jid: string, membership: Membership): Readonly<Record<string, unknown>> {
    if (membership.batch === undefined && membership.results === undefined) return {};
    if (client instanceof FakeClient) return client.#memory.batches.enroll(jid, membership);
    throw new TypeError("batch and results require a client of fakeClient()");
  }
}

/** A drain with more attempts has a job that pushes itself. */
const MAX_ATTEMPTS = 10_000;

/**
 * Returns a client that keeps pushed jobs in memory.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { defineJob } from "@jobs/jobs";
 * import { fakeClient } from "@jobs/jobs/testing";
 *
 * const Remind = defineJob("Remind", (_ctx, to: string) => `reminded ${to}`);
 * const SignUp = defineJob("SignUp", async (ctx, to: string) => {
 *   await ctx.client.push(Remind, [to], { in: "7d" });
 * });
 *
 * const client = fakeClient({ jobs: [SignUp, Remind] });
 * await client.push(SignUp, ["ada@example.com"]);
 * await client.drain();
 * assert(client.pushed(Remind)[0]!.state === "pending");
 * await client.drain({ until: "7d" });
 * assert(client.pushed(Remind)[0]!.result === "reminded ada@example.com");
 * ```
 */
export function fakeClient(options: FakeClientOptions = {}): FakeClient {
  return new FakeClient(options);
}

/** The lease of a job in memory. */
export function leaseOf(jid: string): MemberLease {
  return { worker: "test", token: jid };
}

/** Options of {@linkcode context}. */
export interface TestContextOptions {
  /** Default: a {@linkcode FakeClient}. */
  readonly client?: Client;
  /** Default 1. */
  readonly attempt?: number;
  /** More fields of the payload. */
  readonly payload?: Readonly<Record<string, unknown>>;
  /** Makes it a member of a batch of `client` (its ID), or of a new one (`true`): `ctx.batch`. */
  readonly batch?: boolean | string;
  /** Makes it a node of a flow, after nodes with these results, by name: `ctx.flow.results()`. */
  readonly results?: Readonly<Record<string, unknown>>;
  /** Aborts `ctx.stopping`. */
  readonly stopping?: AbortSignal;
  /** Receives the messages that the handler logs. */
  readonly logged?: string[];
}

/**
 * Returns a context for calling a handler directly: `await Mail(context(Mail), "ada@example.com")`.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { defineJob } from "@jobs/jobs";
 * import { context } from "@jobs/jobs/testing";
 *
 * const Greet = defineJob("Greet", (ctx, name: string) => `Hello ${name}, attempt ${ctx.attempt}`);
 * assert(await Greet(context(Greet, { attempt: 2 }), "Ada") === "Hello Ada, attempt 2");
 * ```
 */
// deno-lint-ignore no-explicit-any -- definitions with any arguments
export function context(definition: JobClass<any>, options: TestContextOptions = {}): JobContext {
  checkJobClass(definition, "definition");
  const { attempt = 1, payload = {}, client = fakeClient(), logged = [], stopping, batch, results } = options;
  const jid = String(payload["jid"] ?? "0".repeat(24));
  const member = FakeClient.enroll(client, jid, { batch, results });
  const fields = { jid, queue: "default", ...definition.options, ...payload, ...member };
  const count = attempt > 1 ? { retry_count: attempt - 2 } : {};
  const job = parsePayload(
    JSON.stringify({ ...fields, ...count, class: definition.class, args: payload["args"] ?? [] }),
  )!;
  const notice = stopping === undefined ? {} : { stopNotice: { signal: stopping } };
  return new RunningJob(job, String(fields.queue), { log: logInto(logged), client, ...notice }, leaseOf(jid)).context;
}

function shown({ raw, queue, dueAt, state, result, error }: MemoryEntry): PushedJob {
  const { jid, class: name, args, payload } = parsePayload(raw)!;
  return {
    ...{ jid, class: name, args, queue, payload, state, at: new Date(dueAt) },
    ...(result !== undefined && { result }),
    ...(error !== undefined && { error }),
  };
}

function logInto(lines: string[]): Log {
  const write = (message: string) => void lines.push(message);
  const log: Log = { debug: write, info: write, warn: write, error: write, enabled: () => true, with: () => log };
  return log;
}
