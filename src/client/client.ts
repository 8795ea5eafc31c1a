/**
 * The client: checks jobs, gives them IDs and times, and stores them.
 *
 *  1. A push that resolves is stored. A push that rejects has stored nothing.
 *  2. Bulk pushes store jobs in batches. A rejected job doesn't affect the others.
 *  3. Middleware around a push may change or stop it; its result is checked again.
 *
 * @module
 */
import { type Clock, systemClock } from "../clock.ts";
import type { JobClass, JsonArgs } from "../job/definition.ts";
import { type EndedJob, readEnded } from "../job/result.ts";
import { describeError, InvalidPayload } from "../job/errors.ts";
import type { ClassOptions, JobOptions, JobRequest, Prepared } from "../job/payload.ts";
import { type BatchMiddleware, compose, type PushMiddleware } from "./middleware.ts";
import type { EnqueueResult, JobStore, NewJob } from "../store/port/jobs.ts";
import { JobBuilder } from "./builder.ts";
import { BATCH, BulkInterrupted, type BulkOptions, inBatches, type PushResult, spreader, unstored } from "./bulk.ts";
import { ClassOptionsKnown } from "./class_options.ts";
import { Gather } from "./gather.ts";
import { sendSignal, type SignalOptions } from "./signal.ts";
import type { SignalResult, StepStore } from "../store/port/steps.ts";
import type { ResultStore } from "../store/port/results.ts";
import type { BatchStore } from "../store/port/batches.ts";
import type { ClassStore } from "../store/port/classes.ts";
import { type AddToBatch, type Batch, Batches, type BatchOptions, refused } from "./batches.ts";

export { BulkInterrupted, type BulkOptions, type PushResult } from "./bulk.ts";
export type { ClassOptions, JobOptions, JobRequest } from "../job/payload.ts";

/** What a client requires of a store. */
export interface ClientStore {
  /** Receives the jobs. */
  readonly jobs: Pick<JobStore, "enqueue">;
  /** Absent in an isolated process: there, results cannot be awaited. */
  readonly results?: Pick<ResultStore, "wait">;
  /** Receives signals. */
  readonly steps?: Pick<StepStore, "signal">;
  /** Absent in an isolated process: there, batches cannot be opened or read. */
  readonly batches?: BatchStore;
  /** Without it, the client applies only the class options of its own program. */
  readonly classes?: Pick<ClassStore, "read">;
}

/** A job as the builder makes it; a promise while the key of its lock is computed. */
type Building = NewJob | Promise<NewJob>;

/** Options of a {@linkcode Client}. */
export interface ClientOptions {
  /** The store that receives the jobs. */
  readonly store: ClientStore;
  /** Job classes whose options this client knows from the start. A class that is pushed by its definition is known anyway. */
  // deno-lint-ignore no-explicit-any -- classes with any arguments
  readonly jobs?: readonly JobClass<any>[];
  /**
   * Rejects a push of a class that neither this client nor a worker has registered, whose queue, retries and lock are
   * therefore unknown. Default false: such a push is stored, and {@linkcode ClientOptions.onUnregistered} is called.
   */
  readonly strict?: boolean;
  /** Receives the name of each unregistered class that is pushed, once. Default: a warning in the log, else on stderr. */
  readonly onUnregistered?: (className: string) => void;
  /** Default: the system's. */
  readonly clock?: Clock;
  /** Around each push; the first one is the outermost. */
  readonly middleware?: readonly PushMiddleware[];
  /** Around each batch of a bulk push, if there is `middleware`. */
  readonly batchMiddleware?: readonly BatchMiddleware[];
  /** The largest payload that is stored, in bytes. Default 1 MiB. */
  readonly maxPayloadBytes?: number;
  /** How times are written. Default 7: seconds with a fraction. */
  readonly sidekiqWire?: 7 | 8;
  /** Returns the options of a class that is not among `jobs`. For the rest, the client asks the store. */
  readonly classOptions?: (className: string) => ClassOptions | undefined;
}

/** A job to push: its class by name or by definition, its arguments, and its options. */
export interface JobInput extends JobOptions {
  /** The class: its name, or what `defineJob` returned. */
  // deno-lint-ignore no-explicit-any -- a class with any arguments
  readonly class: string | JobClass<any>;
  /** The handler's arguments: JSON values only. */
  readonly args: readonly unknown[];
}

/** Jobs of one class: a list of arguments for each, and options for all. */
export interface BulkRequest extends JobOptions, BulkOptions {
  /** The class: its name, or what `defineJob` returned. */
  // deno-lint-ignore no-explicit-any -- a class with any arguments
  readonly class: string | JobClass<any>;
  /** One array of arguments per job. */
  readonly args: Iterable<readonly unknown[]> | AsyncIterable<readonly unknown[]>;
}

/** A job of a known class: its arguments, typed, and its options. */
export interface TypedJob<Args extends readonly unknown[]> extends JobOptions {
  /** The handler's arguments. */
  readonly args: JsonArgs<Args>;
}

/**
 * Items in memory, or as they come.
 *
 * @internal
 */
export type Items<T> = Iterable<T> | AsyncIterable<T>;

/**
 * Puts jobs into a store.
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
  readonly #builder: JobBuilder;
  readonly #middleware: PushMiddleware | undefined;
  readonly #aroundBatch: BatchMiddleware;
  /** Batches: opens them, and looks at them. */
  readonly batches: Batches;
  readonly #classes: ClassOptionsKnown;
  /** The options of the classes that this program has registered. */
  readonly #own = new Map<string, ClassOptions>();

  /** Creates a client of one store. */
  constructor(options: ClientOptions) {
    this.#store = options.store;
    this.#clock = options.clock ?? systemClock;
    this.#middleware = options.middleware?.length ? compose(options.middleware) : undefined;
    this.#aroundBatch = compose(options.batchMiddleware ?? []);
    for (const job of options.jobs ?? []) this.#own.set(job.class, job.options);
    this.#classes = new ClassOptionsKnown({
      own: (name) => this.#own.get(name) ?? options.classOptions?.(name),
      store: options.store,
      clock: this.#clock,
      strict: options.strict ?? false,
      onUnregistered: options.onUnregistered ?? warnOfUnregistered,
    });
    this.#builder = new JobBuilder({
      clock: this.#clock,
      maxPayloadBytes: options.maxPayloadBytes ?? 1024 * 1024,
      wire: options.sidekiqWire ?? 7,
      classOptions: (name) => this.#classes.ofPush(name),
    });
    this.batches = new Batches({
      store: options.store.batches,
      clock: this.#clock,
      pushMany: (jobs) => this.pushMany(jobs),
      build: (job) => this.build(this.#named(job)),
    });
  }

  /**
   * Opens a batch, fills it and closes it. Its members run meanwhile; its callbacks wait until it is closed. If `fill`
   * throws, the batch is abandoned: members that are stored run, and the `abandoned` callback is pushed.
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
   * @throws {InvalidPayload} if an option, a callback or a job cannot be stored as it is
   * @throws what `fill` throws
   */
  async batch(options: BatchOptions, fill: (add: AddToBatch, batch: Batch) => unknown): Promise<Batch> {
    const batch = await this.batches.open(options);
    try {
      await fill(batch.add, batch);
      await batch.close();
      return batch;
    } catch (error) {
      // If this fails too, `closeWithin` does it.
      await batch.abandon().catch(() => {});
      throw error;
    }
  }

  /**
   * Waits until a job has ended, and returns how. A store knows that for a time: of a job that returned something or failed
   * for good, and of any with `result_ttl` (`failure_ttl`). Of jobs that return nothing, a very busy worker keeps only some;
   * for the others this waits until `signal` aborts.
   *
   * @returns undefined if `signal` aborted first
   * @throws {Error} in an isolated job, which has no store
   */
  async result(jid: string, options: { readonly signal?: AbortSignal } = {}): Promise<EndedJob | undefined> {
    if (this.#store.results === undefined) {
      throw new Error("Cannot wait for a result here: an isolated job has no store");
    }
    const record = await this.#store.results.wait(jid, options.signal ?? new AbortController().signal);
    return record === undefined ? undefined : readEnded(record);
  }

  /**
   * Sends a signal to the job that waits for it (`ctx.waitFor`), the one that has waited longest: its wait ends, and it
   * runs again. With no job waiting, the signal is kept for the first that does.
   *
   * @param data a JSON value of at most 1 MiB; default `true`
   * @returns `reached`: the jid of the job; undefined if the signal is kept
   * @throws {InvalidPayload} if the key or the data is invalid
   * @throws {StoreError} if the store cannot store it now, or keeps 1,000 signals of this key
   */
  async signal(key: string, data: unknown = true, options: SignalOptions = {}): Promise<SignalResult> {
    if (this.#store.steps === undefined) throw new Error("Cannot send a signal here: this client's store has no steps");
    return await sendSignal(this.#store.steps, key, data, options);
  }

  /** Returns the options of a class, as this program or a worker has registered them. */
  async optionsOf(className: string): Promise<ClassOptions> {
    await this.#classes.learn(className);
    return this.#classes.get(className) ?? {};
  }

  /**
   * Pushes one job.
   *
   * @returns its jid; undefined if middleware stopped it, or another job holds its unique lock
   * @throws {InvalidPayload} if it cannot be stored as it is
   * @throws {StoreError} if the store cannot store it now
   */
  push(job: JobInput): Promise<string | undefined>;
  /** Pushes one job of a class that `defineJob` returned, with its arguments checked by the compiler. */
  // deno-lint-ignore no-explicit-any -- the definition has the types of the arguments
  push<Args extends readonly any[]>(
    definition: JobClass<Args>,
    args: NoInfer<JsonArgs<Args>>,
    options?: JobOptions,
  ): Promise<string | undefined>;
  /** Pushes one job of a class by its name. */
  push<const Args extends readonly unknown[]>(
    className: string,
    args: Args & JsonArgs<Args, bigint>,
    options?: JobOptions,
  ): Promise<string | undefined>;
  async push(
    // deno-lint-ignore no-explicit-any -- as above
    what: JobInput | string | JobClass<any>,
    args?: readonly unknown[],
    options?: JobOptions,
  ): Promise<string | undefined> {
    const request = typeof what === "object" || what === undefined
      ? this.#named(what)
      : { ...options, class: this.#nameOf(what), args: args as readonly unknown[] };
    return (await this.#pushOne(request, this.#enqueueOne)).jid;
  }

  /**
   * Pushes one job as {@linkcode push} does, and returns more: whether an earlier push with the same `id` had stored it, or
   * why it is not stored.
   *
   * @throws {InvalidPayload} if it cannot be stored as it is
   * @throws {StoreError} if the store cannot store it now
   */
  async tryPush(job: JobInput): Promise<PushResult> {
    return await this.#pushOne(this.#named(job), this.#enqueueOne);
  }

  readonly #enqueueOne = async (job: Building) => (await this.#store.jobs.enqueue([await job]))[0]!;

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
   * const results = await client.pushBulk(Newsletter, [[1], [2], [3]], { spreadMs: 60_000 });
   * const rejected = results.filter(({ refused }) => refused !== undefined);
   * ```
   *
   * @returns one result per job, in order
   * @throws {InvalidPayload} if an option that all of them share is invalid; nothing is stored then
   * @throws {BulkInterrupted} if the store fails on the way
   */
  // deno-lint-ignore no-explicit-any -- the definition has the types of the arguments
  pushBulk<Args extends readonly any[]>(
    definition: JobClass<Args>,
    args: Items<NoInfer<JsonArgs<Args>>>,
    options?: JobOptions & BulkOptions,
  ): Promise<PushResult[]>;
  /** Pushes jobs of one class, by its name or definition. */
  pushBulk(request: BulkRequest): Promise<PushResult[]>;
  async pushBulk(
    // deno-lint-ignore no-explicit-any -- as above
    what: BulkRequest | JobClass<any>,
    list?: Items<readonly unknown[]>,
    options?: JobOptions & BulkOptions,
  ): Promise<PushResult[]> {
    const given = typeof what === "function" ? { ...options, class: what, args: list } : what;
    const { args, spreadMs = 0, ...rest } = given;
    if (typeof args !== "object" || args === null) {
      throw new InvalidPayload("args", args, "an array of arrays, one for each job");
    }
    const common = this.#named(rest as unknown as JobInput);
    await this.#classes.learn(common.class);
    const prepared = this.#builder.prepare(common);
    if (prepared.jid !== undefined) throw new InvalidPayload("jid", prepared.jid, "none: each job gets its own");
    if (prepared.once !== undefined) {
      throw new InvalidPayload("id", common["id"], "none: it names one push; see pushMany");
    }
    const later = spreader(spreadMs);
    const batches = this.#middleware
      ? this.#batchesThrough(args, (one) => ({ ...common, args: one }), later)
      : inBatches(args, this.#store, (one) => this.#builder.build(prepared, one, later()));
    const results: PushResult[] = [];
    try {
      for await (const batch of batches) results.push(...batch);
    } catch (error) {
      throw error instanceof BulkInterrupted ? new BulkInterrupted(error.cause, results.length, results) : error;
    }
    return results;
  }

  /**
   * Pushes jobs of one class from any iterable, each with its own options, in batches of up to 1,000. At most one batch is
   * in memory. A result comes once its batch is stored.
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
   * @throws {BulkInterrupted} if the store fails on the way
   */
  // deno-lint-ignore no-explicit-any -- the definition has the types of the arguments
  pushMany<Args extends readonly any[]>(
    definition: JobClass<Args>,
    jobs: Items<TypedJob<NoInfer<Args>>>,
    options?: BulkOptions,
  ): AsyncGenerator<PushResult>;
  /** Pushes jobs of any classes. */
  pushMany(jobs: Items<JobInput>, options?: BulkOptions): AsyncGenerator<PushResult>;
  async *pushMany(
    // deno-lint-ignore no-explicit-any -- as above
    what: Items<JobInput> | JobClass<any>,
    ...rest: unknown[]
  ): AsyncGenerator<PushResult> {
    const name = typeof what === "function" ? this.#nameOf(what) : undefined;
    const jobs = (typeof what === "function" ? rest.shift() : what) as Items<JobInput>;
    const { spreadMs = 0 } = (rest[0] ?? {}) as BulkOptions;
    const request = (job: JobInput) => this.#named(name === undefined ? job : { ...job, class: name });
    const later = spreader(spreadMs);
    const buildNow = (job: JobRequest) => this.#builder.build(this.#builder.prepare(job), job.args, later());
    const build = (item: JobInput) => {
      const job = request(item);
      const learning = this.#classes.learn(job?.class);
      return learning === undefined ? buildNow(job) : learning.then(() => buildNow(job));
    };
    const batches = this.#middleware ? this.#batchesThrough(jobs, request, later) : inBatches(jobs, this.#store, build);
    for await (const results of batches) yield* results;
  }

  /**
   * Builds one job as a push would, through middleware, without storing it.
   *
   * @returns undefined if middleware stopped it
   * @throws {InvalidPayload} if it could not be stored as it is
   */
  async build(job: JobRequest): Promise<NewJob | undefined> {
    let built: NewJob | undefined;
    await this.#pushOne(job, async (job) => {
      built = await job;
      return { stored: true };
    });
    return built;
  }

  /** The name of a class. One that is pushed by its definition is registered with it. */
  // deno-lint-ignore no-explicit-any -- a class with any arguments
  #nameOf(what: string | JobClass<any>): string {
    if (typeof what !== "function") return what;
    this.#own.set(what.class, what.options);
    return what.class;
  }

  /** The request with its class by name. Anything that is no request stays as it is, to be refused. */
  #named(job: JobInput): JobRequest {
    return typeof job?.class === "function" ? { ...job, class: this.#nameOf(job.class) } : job as JobRequest;
  }

  /** Pushes through middleware, if there is any, into the store. */
  async #pushOne(
    request: JobRequest,
    enqueue: (job: Building) => Promise<EnqueueResult>,
    laterMs = 0,
  ): Promise<PushResult> {
    const learning = this.#classes.learn(request?.class);
    if (learning !== undefined) await learning;
    const store = async (prepared: Prepared, args: unknown): Promise<PushResult> => {
      // Not awaited here: among many jobs, those without a lock would overtake those with one.
      const job = this.#builder.build(prepared, args, laterMs);
      const answer = await enqueue(job);
      if (answer.stored) return { jid: (await job).jid };
      if (answer.batch !== undefined) throw refused(prepared.batch!.id, answer.batch);
      return unstored(answer, await job);
    };
    if (!this.#middleware) return await store(this.#builder.prepare(request), request.args);
    // The completed request has the class's options. An option that middleware removes must not come back.
    const context = { job: this.#builder.complete(request) };
    const ownJid = request.jid === undefined ? context.job.jid : undefined;
    let result: PushResult = { refused: "stopped by middleware" };
    const jid = await this.#middleware(context, async () => {
      const prepared = this.#builder.prepare(context.job, {});
      // A jid that the client has made is new: there is nothing to look up.
      const { once: _, ...rest } = prepared;
      const isNew = prepared.jid === ownJid && context.job["id"] === undefined;
      result = await store(isNew ? rest : prepared, context.job.args);
      return result.jid;
    });
    return jid === undefined || jid === result.jid ? result : { jid };
  }

  /**
   * Pushes through middleware. The jobs of a batch pass it at the same time, and are stored in one call. They keep their
   * order unless middleware delays one for longer than another.
   */
  async *#batchesThrough<T>(
    items: Iterable<T> | AsyncIterable<T>,
    request: (item: T) => JobRequest,
    later: () => number,
  ): AsyncGenerator<PushResult[]> {
    let done = 0;
    let batch: T[] = [];
    const flush = async () => {
      const gather = new Gather(this.#store, this.#clock);
      const requests = batch.map(request);
      let results: PushResult[] = [];
      await this.#learnAll(requests, done);
      await this.#aroundBatch({ count: batch.length }, async () => {
        results = await Promise.all(requests.map((one) => this.#pushThrough(one, gather, later())));
        if (gather.failure) throw new BulkInterrupted(gather.failure.error, done);
      });
      done += results.length;
      batch = [];
      return results;
    };
    for await (const item of items) {
      if (batch.push(item) === BATCH) yield await flush();
    }
    if (batch.length > 0) yield await flush();
  }

  /** Learns the options of a batch's classes first, so that no job has to wait for them and is overtaken. */
  async #learnAll(requests: readonly JobRequest[], done: number): Promise<void> {
    const learning = requests.map((request) => this.#classes.learn(request?.class)).filter((one) => one !== undefined);
    if (learning.length === 0) return;
    try {
      await Promise.all(learning);
    } catch (error) {
      throw new BulkInterrupted(error, done);
    }
  }

  async #pushThrough(request: JobRequest, gather: Gather, laterMs: number): Promise<PushResult> {
    try {
      return await this.#pushOne(request, (job) => gather.add(job), laterMs);
    } catch (error) {
      if (error instanceof InvalidPayload) return { refused: error.message };
      const { class: name, message } = describeError(error);
      return { refused: `${name}: ${message}` };
    }
  }
}

async function warnOfUnregistered(className: string): Promise<void> {
  // Loaded only now: a push that logs nothing needs no log.
  const { warn } = await import("../log/log.ts");
  warn("client", `Pushed a class that isn't registered: its queue, retries and lock are unknown here`, {
    class: className,
    hint: "new Client({ store, jobs: [...] }), or start a worker that has it",
  });
}
