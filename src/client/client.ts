/**
 * The client: pushes jobs, opens batches, sends signals and waits for results.
 *
 *  1. A push that resolves is stored. A push that rejects has stored nothing.
 *  2. Bulk pushes store jobs in batches. A rejected job doesn't affect the others.
 *  3. Middleware around a push may change or stop it; its result is checked again.
 *
 * @module
 */
import { awaitResult } from "../store/ops/await.ts";
import { type Clock, systemClock } from "../clock.ts";
import type { JobEvent } from "../job/event.ts";
import { checkJobClass, expectedJobClass, isJobClass, type JobClass, type JsonArgs } from "../job/definition.ts";
import { InvalidPayload } from "../job/errors.ts";
import type { ClassOptions, JobRequest } from "../job/payload.ts";
import { type EndedJob, readEnded } from "../job/result.ts";
import type { NewJob } from "../store/port/jobs.ts";
import type { SignalResult } from "../store/port/steps.ts";
import type { AddToBatch, Batch, BatchServices } from "./batch.ts";
import type { BatchOptions } from "./batch_options.ts";
import { Batches } from "./batches.ts";
import { JobBuilder } from "./builder.ts";
import { BulkInterrupted, type BulkOptions, type PushResult } from "./bulk.ts";
import { type EventOptions, eventsOf } from "./events.ts";
import type { FlowNodes } from "./flow_graph.ts";
import { type FlowOptions, Flows, type PushedFlow } from "./flows.ts";
import { KnownWebhooks } from "./known_webhooks.ts";
import { KnownClasses } from "./class_options.ts";
import type {
  BulkRequest,
  ClientOptions,
  ClientStore,
  InTransaction,
  Items,
  JobInput,
  PushOptions,
  TypedJob,
} from "./options.ts";
import { Pusher } from "./pusher.ts";
import { storeIn } from "./in_transaction.ts";
import { sendSignal, type SignalOptions } from "./signal.ts";

export { BulkInterrupted, type BulkOptions, type PushResult, type RefusedPush, type StoredPush } from "./bulk.ts";
export type { ClassOptions, JobOptions, JobRequest } from "../job/payload.ts";
export type {
  BulkRequest,
  ClientOptions,
  ClientStore,
  InTransaction,
  Items,
  JobInput,
  PushOptions,
  TypedJob,
} from "./options.ts";

/** The default of {@linkcode ClientOptions.maxPayloadBytes}. */
const DEFAULT_MAX_PAYLOAD_BYTES = 1024 * 1024;

/**
 * Pushes jobs into one store.
 *
 * @example
 * ```ts
 * import { Client, openStore } from "@jobs/jobs";
 *
 * await using store = await openStore("sqlite::memory:");
 * const client = new Client({ store, onUnregistered: () => {} });
 * const jid = await client.push("Report", ["2026-11"], { in: "5m", queue: "low" });
 * ```
 */
export class Client {
  readonly #store: ClientStore;
  readonly #clock: Clock;
  readonly #classes: KnownClasses;
  readonly #pusher: Pusher;
  /** The options of the classes that this program has registered. */
  readonly #own = new Map<string, ClassOptions>();
  /** Opens batches, reads them and waits for them. */
  readonly batches: Batches;
  /** Pushes flows, reads them and waits for them. */
  readonly flows: Flows;

  /**
   * Creates a client of one store.
   *
   * @throws {TypeError} without a store
   */
  constructor(options: ClientOptions) {
    if (typeof options?.store !== "object") {
      throw new TypeError("A client requires a store: new Client({ store: await openStore(url) })");
    }
    const { store, clock = systemClock } = options;
    this.#store = store;
    this.#clock = clock;
    if (options.jobs !== undefined && !Array.isArray(options.jobs)) {
      throw new TypeError(`Invalid "jobs": expected a list such as [Greet], found ${typeof options.jobs}`);
    }
    for (const [i, job] of (options.jobs ?? []).entries()) {
      checkJobClass(job, `"jobs[${i}]"`);
      this.#own.set(job.class, job.options);
    }
    this.#classes = new KnownClasses({
      own: (name) => this.#own.get(name) ?? options.classOptions?.(name),
      store,
      clock,
      strict: options.strict ?? false,
      onUnregistered: options.onUnregistered ?? warnOfUnregistered,
    });
    const builder = new JobBuilder({
      clock,
      maxPayloadBytes: options.maxPayloadBytes ?? DEFAULT_MAX_PAYLOAD_BYTES,
      wire: options.sidekiqWire ?? 7,
      classOptions: (name) => this.#classes.ofPush(name),
    });
    const { middleware = [], batchMiddleware = [] } = options;
    const webhooks = new KnownWebhooks(store, clock);
    this.#pusher = new Pusher({ clock, builder, classes: this.#classes, webhooks, middleware, batchMiddleware });
    const services: BatchServices = {
      store: store.batches,
      operated: store.admin === undefined ? undefined : store,
      clock,
      pushMany: (jobs) => this.pushMany(jobs),
      build: (job) => this.build(this.#requestOf(job)),
      webhooks,
    };
    this.batches = new Batches(services);
    this.flows = new Flows(services, store.flows, this.batches);
  }

  /**
   * Opens a batch, fills it and closes it. Members run while `fill` adds more; callbacks wait until the batch is closed.
   * If `fill` throws, the batch is abandoned: members that are stored still run, and the `abandoned` callback is pushed.
   *
   * @example
   * ```ts
   * import { Client, openStore } from "@jobs/jobs";
   *
   * await using store = await openStore("sqlite::memory:");
   * const client = new Client({ store, onUnregistered: () => {} });
   * const batch = await client.batch({
   *   name: "import 42",
   *   success: { class: "Notify", args: [42] },
   * }, async (add) => {
   *   for (let row = 1; row <= 3; row++) await add("ImportRow", [row]);
   * });
   * console.log((await client.batches.get(batch.id))?.total); // 3
   * ```
   *
   * @returns the batch, closed
   * @throws {InvalidPayload} if an option, a callback or a job is invalid
   * @throws the error that `fill` throws
   */
  async batch(options: BatchOptions, fill: (add: AddToBatch, batch: Batch) => unknown): Promise<Batch> {
    if (typeof fill !== "function") {
      throw new InvalidPayload(
        "fill",
        fill,
        "a function that adds the jobs; client.batches.open opens a batch without",
      );
    }
    const batch = await this.batches.open(options);
    try {
      await fill(batch.add, batch);
      await batch.close();
      return batch;
    } catch (error) {
      // If this fails too, the store abandons the batch after `closeWithin`.
      await batch.abandon().catch(() => {});
      throw error;
    }
  }

  /**
   * Pushes a flow: jobs that run after each other. The graph and every job are checked before anything is stored.
   *
   * @example
   * ```ts
   * import { Client, openStore } from "@jobs/jobs";
   *
   * await using store = await openStore("sqlite::memory:");
   * const client = new Client({ store, onUnregistered: () => {} });
   * const { id } = await client.flow("nightly", {
   *   extractA: { job: ["Extract", ["a"]] },
   *   extractB: { job: ["Extract", ["b"]], onDead: "continue" },
   *   load: { job: ["Load", []], after: ["extractA", "extractB"] },
   *   report: { job: ["Report", []], after: "load", in: "10m" },
   * });
   * console.log((await client.flows.get(id))?.waiting); // 2
   * ```
   *
   * @throws {InvalidPayload} if the graph, a job or an option is invalid; nothing is stored then
   */
  flow(name: string, nodes: FlowNodes, options: FlowOptions = {}): Promise<PushedFlow> {
    return this.flows.push(name, nodes, options);
  }

  /**
   * Waits until a job has ended, and returns how it ended. The store keeps the end of a job for a time if the job returned
   * a value, failed permanently, or has `result_ttl` (`failure_ttl`). Of the other jobs, a very busy worker keeps only
   * some; for one that isn't kept, this waits until `signal` aborts.
   *
   * @returns undefined if `signal` aborted first
   * @throws {InvalidPayload} if `jid` isn't a text
   * @throws {Error} in an isolated job, which has no store
   */
  async result(jid: string, options: { readonly signal?: AbortSignal } = {}): Promise<EndedJob | undefined> {
    const { results, watch } = this.#store;
    if (results === undefined || watch === undefined) {
      throw new Error("Cannot wait for a result here: an isolated job has no store");
    }
    if (typeof jid !== "string") throw new InvalidPayload("jid", jid, "the ID of a job");
    const record = await awaitResult({ results, watch }, jid, options.signal ?? new AbortController().signal);
    return record === undefined ? undefined : readEnded(record);
  }

  /**
   * Sends a signal to the job that waits for its key (`ctx.waitFor`); of several, to the one that has waited longest. Its
   * wait ends, and the job runs again. If no job waits, the signal is kept for the first job that does.
   *
   * @param data a JSON value of at most 1 MiB; default `true`
   * @returns `reached`: the jid of the job; undefined if the signal is kept
   * @throws {InvalidPayload} if the key or the data is invalid
   * @throws {StoreError} if the store is unavailable, or keeps 1,000 signals of this key already
   */
  async signal(key: string, data: unknown = true, options: SignalOptions = {}): Promise<SignalResult> {
    if (this.#store.steps === undefined) throw new Error("Cannot send a signal here: this client's store has no steps");
    return await sendSignal(this.#store.steps, key, data, options);
  }

  /**
   * Yields what ends: jobs, batches and flows, missed runs of cron entries, offline workers. The next events are read when the loop has
   * used those before. A program that starts again continues with the ID of the last event that it has used. While the store is
   * unreachable, the loop waits. An event of type `gap` stands for events that were no longer kept, or for a time without records.
   *
   * Events are recorded while something reads them, and for an hour after; with the setting `retention.events`, for longer.
   *
   * @example
   * ```ts
   * import { Client, openStore } from "@jobs/jobs";
   *
   * await using store = await openStore("sqlite::memory:");
   * const client = new Client({ store });
   * for await (const event of client.events({ type: ["dead"], class: ["Import*"], signal: AbortSignal.timeout(10) })) {
   *   console.log(event.id, event.jid, event.error?.message);
   * }
   * ```
   *
   * @throws {InvalidPayload} if an option is invalid
   * @throws {Error} in an isolated job, which has no store
   */
  events(options: EventOptions = {}): AsyncGenerator<JobEvent, void> {
    return eventsOf(this.#store, this.#clock, options);
  }

  /** Returns the options of a class that this program or a worker has registered; empty for any other class. */
  async optionsOf(className: string): Promise<ClassOptions> {
    await this.#classes.learn(className);
    return this.#classes.get(className) ?? {};
  }

  /** @internal Returns whether a class that this client has pushed is one that neither it nor a worker has registered. */
  isUnregistered(className: string): boolean {
    return this.#classes.isUnregistered(className);
  }

  /** @internal Returns the registered class that an unregistered one, which this client has pushed, is a misspelling of. */
  meantBy(className: string): string | undefined {
    return this.#classes.meantBy(className);
  }

  /**
   * Pushes one job.
   *
   * @returns its jid; undefined if middleware stopped it, or another job holds its unique lock
   * @throws {InvalidPayload} if the class, an option or an argument is invalid
   * @throws {StoreError} if the store is unavailable
   */
  push(job: JobInput & InTransaction): Promise<string | undefined>;
  /** Pushes one job of a class that `defineJob` returned. The compiler checks the arguments. */
  // deno-lint-ignore no-explicit-any -- the definition has the types of the arguments
  push<Args extends readonly any[]>(
    definition: JobClass<Args>,
    args: NoInfer<JsonArgs<Args>>,
    options?: PushOptions,
  ): Promise<string | undefined>;
  /** Pushes one job of a class by its name. */
  push<const Args extends readonly unknown[]>(
    className: string,
    args?: Args & JsonArgs<Args, bigint>,
    options?: PushOptions,
  ): Promise<string | undefined>;
  async push(
    // deno-lint-ignore no-explicit-any -- as above
    job: JobInput & InTransaction | string | JobClass<any>,
    args?: readonly unknown[],
    options?: PushOptions,
  ): Promise<string | undefined> {
    const input = typeof job === "object" || job === undefined
      ? job
      : { ...options, class: job, ...(args !== undefined && { args }) };
    return (await this.tryPush(input)).jid;
  }

  /**
   * Pushes one job as {@linkcode push} does, and returns more: whether an earlier push with the same `id` had stored it,
   * or why it is not stored.
   *
   * @throws {InvalidPayload} if the class, an option or an argument is invalid
   * @throws {StoreError} if the store is unavailable
   */
  async tryPush(job: JobInput & InTransaction): Promise<PushResult> {
    if (job?.transaction === undefined) return await this.#pusher.push(this.#requestOf(job), this.#store);
    const { transaction, ...rest } = job;
    return await this.#pusher.push(this.#requestOf(rest), storeIn(transaction, this.#store));
  }

  /**
   * Pushes jobs of one class, in batches of 1,000.
   *
   * @example
   * ```ts
   * import { Client, defineJob, openStore } from "@jobs/jobs";
   *
   * const Newsletter = defineJob("Newsletter", (_ctx, id: number) => {}, { queue: "news" });
   * await using store = await openStore("sqlite::memory:");
   * const client = new Client({ store });
   * const results = await client.pushBulk(Newsletter, [[1], [2], [3]], { spread: "1m" });
   * const rejected = results.filter(({ refused }) => refused !== undefined);
   * ```
   *
   * @returns one result per job, in order
   * @throws {InvalidPayload} if a shared option is invalid; nothing is stored then
   * @throws {BulkInterrupted} if the store fails before the last batch is stored, or the iterable after the first one is
   */
  // deno-lint-ignore no-explicit-any -- the definition has the types of the arguments
  pushBulk<Args extends readonly any[]>(
    definition: JobClass<Args>,
    args: Items<NoInfer<JsonArgs<Args>>>,
    options?: PushOptions & BulkOptions,
  ): Promise<PushResult[]>;
  /** Pushes jobs of one class by its name. */
  pushBulk(
    className: string,
    args: Items<readonly unknown[]>,
    options?: PushOptions & BulkOptions,
  ): Promise<PushResult[]>;
  /** Pushes jobs of one class, by its name or definition. */
  pushBulk(request: BulkRequest): Promise<PushResult[]>;
  async pushBulk(
    // deno-lint-ignore no-explicit-any -- as above
    request: BulkRequest | JobClass<any> | string,
    list?: Items<readonly unknown[]>,
    options?: PushOptions & BulkOptions,
  ): Promise<PushResult[]> {
    const given = typeof request === "object" ? request : { ...options, class: request, args: list };
    const { args, spread = 0, transaction, ...rest } = given;
    if (typeof args !== "object" || args === null) {
      throw new InvalidPayload("args", args, "an array of arrays, one for each job");
    }
    const shared = this.#requestOf(rest as unknown as JobInput);
    const batches = await this.#pusher.pushSame(shared, args, spread, storeIn(transaction, this.#store));
    const results: PushResult[] = [];
    try {
      for await (const batch of batches) results.push(...batch);
    } catch (error) {
      if (error instanceof BulkInterrupted) throw new BulkInterrupted(error.cause, results.length, results);
      // The caller has received no results: it must learn what is stored.
      throw results.length > 0 ? new BulkInterrupted(error, results.length, results) : error;
    }
    return results;
  }

  /**
   * Pushes jobs of one class from any iterable, each with separate options, in batches of up to 1,000. At most one batch is
   * in memory. A result is yielded when its batch is stored.
   *
   * @example
   * ```ts
   * import { Client, defineJob, openStore } from "@jobs/jobs";
   *
   * const Newsletter = defineJob("Newsletter", (_ctx, id: number) => {}, { queue: "news" });
   * await using store = await openStore("sqlite::memory:");
   * const client = new Client({ store });
   * async function* readers() {
   *   for (let id = 1; id <= 3; id++) yield { args: [id] as [number], tags: [`reader-${id}`] };
   * }
   * for await (const { refused } of client.pushMany(Newsletter, readers())) if (refused) console.error(refused);
   * ```
   *
   * @returns one result per job, in order
   * @throws {BulkInterrupted} if the store fails before the last batch is stored
   */
  // deno-lint-ignore no-explicit-any -- the definition has the types of the arguments
  pushMany<Args extends readonly any[]>(
    definition: JobClass<Args>,
    jobs: Items<TypedJob<NoInfer<Args>>>,
    options?: BulkOptions & InTransaction,
  ): AsyncGenerator<PushResult>;
  /** Pushes jobs of any classes. */
  pushMany(jobs: Items<JobInput>, options?: BulkOptions & InTransaction): AsyncGenerator<PushResult>;
  async *pushMany(
    // deno-lint-ignore no-explicit-any -- as above
    first: Items<JobInput> | JobClass<any>,
    ...rest: unknown[]
  ): AsyncGenerator<PushResult> {
    const name = typeof first === "function" ? this.#nameOf(first) : undefined;
    const jobs = (typeof first === "function" ? rest.shift() : first) as Items<JobInput>;
    const { spread = 0, transaction } = (rest[0] ?? {}) as BulkOptions & InTransaction;
    const request = (job: JobInput) => this.#requestOf(name === undefined ? job : { ...job, class: name });
    const batches = this.#pusher.pushEach(jobs, request, spread, storeIn(transaction, this.#store));
    for await (const results of batches) yield* results;
  }

  /**
   * Builds one job as a push would, through middleware, without storing it.
   *
   * @returns undefined if middleware stopped it
   * @throws {InvalidPayload} if the class, an option or an argument is invalid
   */
  async build(job: JobRequest): Promise<NewJob | undefined> {
    return await this.#pusher.build(job);
  }

  /** Returns the name of a class. Registers the options of a class that is pushed by its definition. */
  // deno-lint-ignore no-explicit-any -- a class with any arguments
  #nameOf(job: string | JobClass<any>): string {
    if (typeof job !== "function") return job;
    if (!isJobClass(job)) throw new InvalidPayload("class", job, expectedJobClass(job));
    this.#own.set(job.class, job.options);
    return job.class;
  }

  /** Returns the request with its class by name, and its arguments. Anything that isn't a request is rejected later. */
  #requestOf(job: JobInput): JobRequest {
    if (typeof job !== "object" || job === null) return job as JobRequest;
    const { class: given, args = [] } = job;
    // Most requests need no copy.
    return typeof given === "string" && args === job.args
      ? job as JobRequest
      : { ...job, class: this.#nameOf(given), args };
  }
}

async function warnOfUnregistered(className: string, meant?: string): Promise<void> {
  // Loaded only now: most pushes log nothing.
  const { warn } = await import("../log/log.ts");
  warn("client", `Pushed a class that isn't registered: its queue, retries and lock are unknown here`, {
    class: className,
    meant,
    hint: "new Client({ store, jobs: [...] }), or start a worker that has it",
  });
}
