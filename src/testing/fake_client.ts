/**
 * A client for tests. Its store is SQLite in memory, on a clock that it moves, and `drain` is its worker: pushes, batches, flows,
 * steps and retries behave as in production, without waiting.
 *
 * @module
 */
import { Client } from "../client/client.ts";
import type { PushMiddleware } from "../client/middleware.ts";
import type { JobContext } from "../handlers/context.ts";
import { Extensions } from "../handlers/extensions.ts";
import { defineJob, type JobDefinition } from "../handlers/handler.ts";
import { addExports } from "../handlers/load.ts";
import { Registry } from "../handlers/registry.ts";
import { RunningJob } from "../handlers/running_job.ts";
import { checkJobClass, type JobClass } from "../job/definition.ts";
import { parseDuration } from "../job/duration.ts";
import { type Job, parsePayload, type Payload } from "../job/job.ts";
import { readWireTime } from "../job/raw.ts";
import type { Entry } from "../store/port/entries.ts";
import type { Store } from "../store/admin/store.ts";
import type { Lease } from "../store/port/jobs.ts";
import { memoryStore } from "./memory_store.ts";
import { TestClock } from "./test_clock.ts";
import { logInto, type Membership, type Performed, TestWorker, WORKER } from "./test_worker.ts";

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
  /** `pending` until {@linkcode FakeClient.drain} runs it; `dead` when its retries are exhausted; `cancelled` with its batch. */
  readonly state: "pending" | "succeeded" | "discarded" | "expired" | "cancelled" | "dead";
  /** The value that the handler returned. */
  readonly result?: unknown;
  /** The error of the last attempt that failed. */
  readonly error?: unknown;
}

/** Options of {@linkcode fakeClient}. */
export interface FakeClientOptions {
  /** The classes whose jobs {@linkcode FakeClient.drain} runs. */
  // deno-lint-ignore no-explicit-any -- definitions with any arguments
  readonly jobs?: readonly JobDefinition<any>[];
  /**
   * Modules with handlers, as `import * as handlers from "./handlers.js"` has them. Each exported function performs the jobs of the
   * class that has its name, as in a worker. Their middleware and hooks aren't used.
   */
  readonly modules?: readonly Readonly<Record<string, unknown>>[];
  /** The initial time of its clock. Default: 2026-01-01T00:00:00Z. */
  readonly now?: Date;
  /** Wraps each push. */
  readonly middleware?: readonly PushMiddleware[];
}

/** A job as it was pushed or last taken. While it exists, the store knows more. */
interface Remembered {
  readonly raw: string;
  readonly queue: string;
  readonly at: number;
  /** How it ended without being kept. */
  ended?: "succeeded" | "discarded" | "expired" | "cancelled";
  result?: unknown;
  error?: unknown;
}

/** A client whose jobs stay in memory. */
export class FakeClient extends Client {
  readonly #clock: TestClock;
  readonly #store: Store;
  readonly #registry: Registry;
  readonly #worker: TestWorker;
  /** The jobs in the order of their pushes, by jid. */
  readonly #jobs: Map<string, Remembered>;
  /** The messages that handlers logged. */
  readonly logged: string[] = [];

  /** See {@linkcode fakeClient}. */
  constructor(
    { jobs = [], modules = [], now = new Date("2026-01-01T00:00:00Z"), middleware = [] }: FakeClientOptions = {},
  ) {
    const clock = new TestClock(now.getTime());
    const pushed = new Map<string, Remembered>();
    const store = memoryStore(clock, ({ jid, payload, queue }) => {
      pushed.set(jid, { raw: payload, queue, at: clock.now() });
    });
    const exported = new Registry();
    modules.forEach((module, i) => addExports(module, `modules[${i}]`, exported, new Extensions()));
    const defined = exported.list().map((handler) => defineJob(handler.class, handler.perform, handler.options));
    super({
      store,
      clock,
      jobs: defined.length === 0 ? jobs : [...jobs, ...defined],
      middleware,
      onUnregistered: () => {},
    });
    this.#clock = clock;
    this.#store = store;
    this.#jobs = pushed;
    this.#registry = new Registry().define(...jobs, ...defined);
    this.#worker = new TestWorker({ clock, store, registry: this.#registry, client: this, logged: this.logged });
  }

  /** The time of its clock. */
  get now(): Date {
    return new Date(this.#clock.now());
  }

  /** Returns the jobs of a class that were pushed, in order, with their state. */
  // deno-lint-ignore no-explicit-any -- the definition has the types of the arguments
  pushed<Args extends readonly any[]>(definition: JobClass<Args>): Promise<PushedJob<Args>[]>;
  /** Returns all jobs that were pushed, or those of a class by its name; also those that batches and flows pushed. */
  pushed(className?: string): Promise<PushedJob[]>;
  // deno-lint-ignore no-explicit-any -- as above
  async pushed(job?: string | JobClass<any>): Promise<PushedJob[]> {
    if (typeof job === "function") checkJobClass(job, "class");
    const name = typeof job === "function" ? job.class : job;
    const live = await this.#entries();
    const all = [...this.#jobs].map(([jid, remembered]) => shown(remembered, live.get(jid)));
    return all.filter((pushed) => name === undefined || pushed.class === name);
  }

  /**
   * Runs due jobs in the order of their times, including the jobs that these push, retries and snoozed jobs. The clock
   * advances to the time of each job, and in the end to `until`.
   *
   * @param options.until the time to advance to: a duration such as `7d`, or a Date. Default: now
   * @param options.maxAttempts more attempts are an error, because a job seems to push itself forever. Default: 10,000
   * @returns the number of attempts
   * @throws {Error} if the class of a job is not among the client's `jobs`, or its `retryIn` is invalid
   */
  async drain(
    { until, maxAttempts = MAX_ATTEMPTS }: { readonly until?: number | string | Date; readonly maxAttempts?: number } =
      {},
  ): Promise<number> {
    const end = until instanceof Date
      ? until.getTime()
      : this.#clock.now() + (until === undefined ? 0 : parseDuration(String(until)));
    let attempts = 0;
    for (let lease = await this.#worker.next(end); lease; lease = await this.#worker.next(end)) {
      if (++attempts > maxAttempts) throw new Error(`More than ${maxAttempts} attempts: a job pushes itself forever`);
      await this.#run(lease, parsePayload(lease.payload)!);
    }
    this.#clock.pass(Math.max(0, end - this.#clock.now()));
    return attempts;
  }

  async #run(lease: Lease, { jid, class: name }: Job): Promise<void> {
    const taken = { raw: lease.payload, queue: lease.queue, at: this.#clock.now() };
    this.#jobs.set(jid, taken);
    if (this.#registry.get(name) === undefined) {
      await this.#worker.settle({ kind: "release", token: lease.token });
      throw new Error(
        `No handler for class "${name}": add it to fakeClient({ jobs: [...] }) or its module to { modules: [...] }`,
      );
    }
    const performed = await this.#worker.perform(lease);
    const { outcome: _, hasStarted: __, ...returned } = performed;
    this.#jobs.set(jid, { ...taken, ...endOf(lease, performed), ...returned });
    await this.#worker.settle(performed.outcome);
  }

  /** Returns the entries of the jobs that have not ended, by jid, and remembers new ones. */
  async #entries(): Promise<Map<string, Entry>> {
    const { queues } = await this.#store.admin.stats();
    const found = new Map<string, Entry>();
    const places = [
      ...queues.map(({ name }) => ({ in: "queue", queue: name } as const)),
      ...(["scheduled", "retry", "dead", "running"] as const).map((place) => ({ in: place })),
    ];
    for (const place of places) {
      let cursor: string | undefined;
      do {
        const page = await this.#store.admin.page(place, { limit: 1_000, ...(cursor !== undefined && { cursor }) });
        for (const entry of page.entries) {
          const { jid, payload: { queue = "default" } } = parsePayload(entry.payload)!;
          found.set(jid, entry);
          // A job that a test runs directly was not pushed.
          if (place.in === "running" || this.#jobs.has(jid)) continue;
          this.#jobs.set(jid, { raw: entry.payload, queue, at: this.#clock.now() });
        }
        cursor = page.next;
      } while (cursor !== undefined);
    }
    return found;
  }

  /** @internal Makes a job that a test calls directly a running member of a batch or a flow. */
  static async enroll(
    client: Client,
    fields: Readonly<Record<string, unknown>>,
    membership: Membership,
  ): Promise<Lease | undefined> {
    const { batch = false, results } = membership;
    if (batch === false && results === undefined) return undefined;
    if (!(client instanceof FakeClient)) throw new TypeError("batch and results require a client of fakeClient()");
    const lease = await client.#worker.enroll(fields, membership);
    // It was not pushed.
    client.#jobs.delete(String(fields["jid"]));
    return lease;
  }
}

/** A drain with more attempts has a job that pushes itself. */
const MAX_ATTEMPTS = 10_000;

/**
 * Returns a client whose store is in memory.
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
 * assert((await client.pushed(Remind))[0]!.state === "pending");
 * await client.drain({ until: "7d" });
 * assert((await client.pushed(Remind))[0]!.result === "reminded ada@example.com");
 * ```
 */
export function fakeClient(options: FakeClientOptions = {}): FakeClient {
  return new FakeClient(options);
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
 * Returns a context for calling a handler directly: `await Mail(await context(Mail), "ada@example.com")`.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { defineJob } from "@jobs/jobs";
 * import { context } from "@jobs/jobs/testing";
 *
 * const Greet = defineJob("Greet", (ctx, name: string) => `Hello ${name}, attempt ${ctx.attempt}`);
 * assert(await Greet(await context(Greet, { attempt: 2 }), "Ada") === "Hello Ada, attempt 2");
 * ```
 */
// deno-lint-ignore no-explicit-any -- definitions with any arguments
export async function context(definition: JobClass<any>, options: TestContextOptions = {}): Promise<JobContext> {
  checkJobClass(definition, "definition");
  const { attempt = 1, payload = {}, client = fakeClient(), logged = [], stopping, batch, results } = options;
  const jid = String(payload["jid"] ?? "0".repeat(24));
  const count = attempt > 1 ? { retry_count: attempt - 2 } : {};
  const own = { class: definition.class, args: payload["args"] ?? [] };
  const fields = { jid, queue: "default", ...definition.options, ...payload, ...count, ...own };
  const member = await FakeClient.enroll(client, fields, { batch, results });
  const { queue, token } = member ?? { queue: String(fields.queue), token: jid };
  const notice = stopping === undefined ? {} : { stopNotice: { signal: stopping } };
  const services = { log: logInto(logged), client, ...notice };
  const job = parsePayload(member?.payload ?? JSON.stringify(fields))!;
  return new RunningJob(job, queue, services, { worker: WORKER, token }).context;
}

/** Returns how a job ended without being kept; nothing if it runs again or is dead. */
function endOf({ cancelled }: Lease, { outcome, hasStarted }: Performed): Pick<Remembered, "ended"> {
  if (outcome.kind === "discard") return { ended: "discarded" };
  if (outcome.kind !== "ack") return {};
  return { ended: hasStarted ? "succeeded" : cancelled ? "cancelled" : "expired" };
}

/** @param entry where the job is now; absent if it has ended */
function shown({ raw, queue, at, ended, result, error }: Remembered, entry: Entry | undefined): PushedJob {
  const { jid, class: name, args, payload } = parsePayload(entry?.payload ?? raw)!;
  const place = entry?.place;
  const due = entry?.at ?? (place?.in === "queue" ? readWireTime(payload.enqueued_at) : undefined) ?? at;
  const state = ended ?? (place === undefined ? "cancelled" : place.in === "dead" ? "dead" : "pending");
  return {
    ...{ jid, class: name, args, payload, state, at: new Date(due) },
    queue: place?.in === "queue" ? place.queue : queue,
    ...(result !== undefined && { result }),
    ...(error !== undefined && { error }),
  };
}
