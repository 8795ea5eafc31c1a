/**
 * The enqueuer: checks jobs, gives them ids and times, and puts them into the store.
 *
 *  1. A push that resolves is stored. One that cannot be stored rejects, and stored nothing.
 *  2. Bulk pushes go in batches; a job that is refused stops none of the others.
 *  3. Middleware around a push may change or stop it; what it leaves is checked again.
 *
 * @module
 */
import { type Clock, systemClock } from "../clock.ts";
import type { JobClass } from "../job/definition.ts";
import { type EndedJob, readEnded } from "../job/result.ts";
import { describeError, InvalidPayload } from "../job/errors.ts";
import type { ClassOptions, JobOptions, JobRequest } from "../job/payload.ts";
import { type BatchMiddleware, compose, type PushMiddleware } from "./middleware.ts";
import type { EnqueueResult, NewJob, Store } from "../store/port/jobs.ts";
import { JobBuilder } from "./builder.ts";
import { BATCH, BulkInterrupted, type BulkOptions, heldBy, inBatches, type PushResult, spreader } from "./bulk.ts";
import { ClassOptionsKnown } from "./class_options.ts";
import { Gather } from "./gather.ts";

export { BulkInterrupted, type BulkOptions, type PushResult } from "./bulk.ts";
export type { ClassOptions, JobOptions, JobRequest } from "../job/payload.ts";

/**
 * What a client needs of a store: `enqueue`; to wait for results, `waitForResult`; to know what the servers' classes say
 * about their jobs, `declaredClasses`.
 */
export type ClientStore = Pick<Store, "enqueue"> & Partial<Pick<Store, "waitForResult" | "declaredClasses">>;

/** A job as the builder makes it, maybe still without its lock's digest. */
type Building = NewJob | Promise<NewJob>;

/** What a client is made with. */
export interface ClientOptions {
  /** Where to. */
  readonly store: ClientStore;
  /** Default: the system's. */
  readonly clock?: Clock;
  /** Around each push; the first one is the outermost. */
  readonly middleware?: readonly PushMiddleware[];
  /** Around each batch of a bulk push where there is `middleware`. */
  readonly batchMiddleware?: readonly BatchMiddleware[];
  /** A larger payload is refused; default 1 MiB. */
  readonly maxPayloadBytes?: number;
  /** How times are written; default 7, seconds with a fraction. */
  readonly sidekiqWire?: 7 | 8;
  /** What a class says about its jobs. Of one that is not known here, the store is asked what servers told it. */
  readonly classOptions?: (className: string) => ClassOptions | undefined;
}

/** Jobs of one class, with a list of arguments for each. */
export interface BulkRequest extends JobOptions, BulkOptions {
  /** The class whose handler performs them. */
  readonly class: string;
  /** One array of arguments per job. */
  readonly args: Iterable<readonly unknown[]> | AsyncIterable<readonly unknown[]>;
}

/** Puts jobs into a store. */
export class Client {
  readonly #store: ClientStore;
  readonly #clock: Clock;
  readonly #builder: JobBuilder;
  readonly #middleware: PushMiddleware | undefined;
  readonly #aroundBatch: BatchMiddleware;
  readonly #classes: ClassOptionsKnown;

  /** A client of one store. */
  constructor(options: ClientOptions) {
    this.#store = options.store;
    this.#clock = options.clock ?? systemClock;
    this.#middleware = options.middleware?.length ? compose(options.middleware) : undefined;
    this.#aroundBatch = compose(options.batchMiddleware ?? []);
    this.#classes = new ClassOptionsKnown({
      own: options.classOptions ?? (() => undefined),
      store: options.store,
      clock: this.#clock,
    });
    this.#builder = new JobBuilder({
      clock: this.#clock,
      maxPayloadBytes: options.maxPayloadBytes ?? 1024 * 1024,
      wire: options.sidekiqWire ?? 7,
      classOptions: (name) => this.#classes.get(name),
    });
  }

  /**
   * Waits until a job has ended, and tells how. That is known for some time of a job that returned something or failed for
   * good, and of any that was pushed with `result_ttl` (and `failure_ttl`). Of those that return nothing, a server that does
   * very many remembers some; for one that it does not, this waits until `signal` aborts.
   *
   * @returns undefined when `signal` aborted first
   * @throws {Error} where there is no store to ask: within an isolated job
   */
  async result(jid: string, options: { readonly signal?: AbortSignal } = {}): Promise<EndedJob | undefined> {
    if (this.#store.waitForResult === undefined) {
      throw new Error("Results cannot be waited for here: an isolated job has no store of its own");
    }
    const record = await this.#store.waitForResult(jid, options.signal ?? new AbortController().signal);
    return record === undefined ? undefined : readEnded(record);
  }

  /** What a class says about its jobs, as far as this program or the store knows. */
  async optionsOf(className: string): Promise<ClassOptions> {
    await this.#classes.learn(className);
    return this.#classes.get(className) ?? {};
  }

  /**
   * Pushes one job.
   *
   * @returns its jid; undefined when middleware stopped it, or another job holds its unique lock
   * @throws {InvalidPayload} when it cannot be stored as it is
   * @throws {StoreError} when the store cannot take it now
   */
  push(job: JobRequest): Promise<string | undefined>;
  /** The same, of a class and its arguments. */
  push(className: string, args: readonly unknown[], options?: JobOptions): Promise<string | undefined>;
  /** The same, typed, of what `defineJob` made. */
  // deno-lint-ignore no-explicit-any -- what the arguments are stands in the definition
  push<Args extends readonly any[]>(
    definition: JobClass<Args>,
    args: Args,
    options?: JobOptions,
  ): Promise<string | undefined>;
  async push(
    // deno-lint-ignore no-explicit-any -- as above
    what: JobRequest | string | JobClass<any>,
    args?: readonly unknown[],
    options?: JobOptions,
  ): Promise<string | undefined> {
    const enqueue = async (job: Building) => (await this.#store.enqueue([await job]))[0]!;
    if (typeof what === "object" || what === undefined) return await this.#pushOne(what, enqueue);
    const [name, said] = typeof what === "string" ? [what] : [what.class, what.options];
    return await this.#pushOne({ ...options, class: name, args: args as readonly unknown[] }, enqueue, said);
  }

  /**
   * Pushes jobs of one class, in batches of 1,000.
   *
   * @returns one result per job, in order
   * @throws {InvalidPayload} when something that all of them have is wrong; nothing is stored then
   * @throws {BulkInterrupted} when the store fails on the way
   */
  async pushBulk(request: BulkRequest): Promise<PushResult[]> {
    const { args, spreadMs = 0, ...common } = request;
    if (typeof args !== "object" || args === null) {
      throw new InvalidPayload("args", args, "an array of arrays, one for each job");
    }
    await this.#classes.learn(common.class);
    const prepared = this.#builder.prepare(common as JobRequest);
    if (prepared.jid !== undefined) throw new InvalidPayload("jid", prepared.jid, "none: each job gets its own");
    const later = spreader(spreadMs);
    const batches = this.#middleware
      ? this.#batchesThrough(args, (one) => ({ ...common, args: one } as JobRequest), later)
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
   * Pushes any jobs, from any iterable, in batches of up to 1,000; no more than one batch is in memory. Results come
   * once their batch is stored.
   *
   * @returns one result per job, in order
   * @throws {BulkInterrupted} when the store fails on the way
   */
  async *pushMany(
    jobs: Iterable<JobRequest> | AsyncIterable<JobRequest>,
    { spreadMs = 0 }: BulkOptions = {},
  ): AsyncGenerator<PushResult> {
    const later = spreader(spreadMs);
    const buildNow = (job: JobRequest) => this.#builder.build(this.#builder.prepare(job), job.args, later());
    const build = (job: JobRequest) => {
      const learning = this.#classes.learn(job?.class);
      return learning === undefined ? buildNow(job) : learning.then(() => buildNow(job));
    };
    const batches = this.#middleware
      ? this.#batchesThrough(jobs, (job) => job, later)
      : inBatches(jobs, this.#store, build);
    for await (const results of batches) yield* results;
  }

  /**
   * Builds one job as a push would, through middleware, and does not store it.
   *
   * @returns undefined when middleware stopped it
   * @throws {InvalidPayload} when it could not be stored as it is
   */
  async build(job: JobRequest): Promise<NewJob | undefined> {
    let built: NewJob | undefined;
    await this.#pushOne(job, async (job) => {
      built = await job;
      return { stored: true };
    });
    return built;
  }

  /** Through middleware, if there is any, into the store. */
  async #pushOne(
    request: JobRequest,
    enqueue: (job: Building) => Promise<EnqueueResult>,
    said?: ClassOptions,
    laterMs = 0,
  ): Promise<string | undefined> {
    if (said === undefined) {
      const learning = this.#classes.learn(request?.class);
      if (learning !== undefined) await learning;
    }
    const store = async (checked: JobRequest, what?: ClassOptions) => {
      // Not waited for here: of many jobs, those without a lock would pass those with one.
      const job = this.#builder.build(this.#builder.prepare(checked, what), checked.args, laterMs);
      return (await enqueue(job)).stored ? (await job).jid : undefined;
    };
    if (!this.#middleware) return await store(request, said);
    // From here on the request says all; what the class says must not come back where middleware took it out.
    const context = { job: this.#builder.complete(request, said) };
    return await this.#middleware(context, () => store(context.job, {}));
  }

  /**
   * Through middleware: a batch's jobs go through it at the same time, and meet again on the way to the store. They keep
   * their order unless it lets one wait for longer than another.
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

  /** So that none of a batch has to wait for what its class says, and is overtaken. */
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
    let holder: string | undefined;
    const enqueue = async (job: Building) => {
      const result = await gather.add(job);
      if (!result.stored) holder = result.holder;
      return result;
    };
    try {
      const jid = await this.#pushOne(request, enqueue, undefined, laterMs);
      if (jid !== undefined) return { jid };
      return { refused: holder === undefined ? "stopped by middleware" : heldBy(holder) };
    } catch (error) {
      if (error instanceof InvalidPayload) return { refused: error.message };
      const { class: name, message } = describeError(error);
      return { refused: `${name}: ${message}` };
    }
  }
}
