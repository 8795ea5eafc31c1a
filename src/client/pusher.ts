/**
 * Pushes jobs: completes them with the options of their class, passes them through middleware, builds them and stores
 * them.
 *
 *  1. Without middleware, the jobs of a bulk push go straight from the builder to the store, one chunk after the other
 *     (`bulk.ts`).
 *  2. With middleware, the jobs of a chunk pass it at the same time, and share one call to the store.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import { describeError } from "../job/describe_error.ts";
import { InvalidPayload } from "../job/errors.ts";
import { argsText, type JobRequest, type Prepared } from "../job/payload.ts";
import type { EnqueueResult, JobStore, NewJob } from "../store/port/jobs.ts";
import { batchRefusal } from "./batch_errors.ts";
import type { JobBuilder } from "./builder.ts";
import { BulkInterrupted, inChunks, MAX_CHUNK_JOBS, type PushResult, resultOf, spreader } from "./bulk.ts";
import type { KnownClasses } from "./class_options.ts";
import { type BatchMiddleware, compose, type PushMiddleware } from "./middleware.ts";
import type { KnownWebhooks } from "./known_webhooks.ts";
import type { Items } from "./options.ts";
import { UsedId } from "./unique.ts";

/** The receiver of jobs: a store, or a transaction of it. */
export interface JobTarget {
  readonly jobs: Pick<JobStore, "enqueue">;
}

export interface PusherOptions {
  readonly clock: Clock;
  readonly builder: JobBuilder;
  readonly classes: KnownClasses;
  readonly webhooks: KnownWebhooks;
  readonly middleware: readonly PushMiddleware[];
  readonly batchMiddleware: readonly BatchMiddleware[];
}

export class Pusher {
  readonly #clock: Clock;
  readonly #builder: JobBuilder;
  readonly #classes: KnownClasses;
  readonly #webhooks: KnownWebhooks;
  readonly #middleware: PushMiddleware | undefined;
  readonly #aroundChunk: BatchMiddleware;

  constructor({ clock, builder, classes, webhooks, middleware, batchMiddleware }: PusherOptions) {
    this.#clock = clock;
    this.#builder = builder;
    this.#classes = classes;
    this.#webhooks = webhooks;
    this.#middleware = middleware.length > 0 ? compose(middleware) : undefined;
    this.#aroundChunk = compose(batchMiddleware);
  }

  /** Pushes one job to a store, or to a transaction of it. */
  async push(request: JobRequest, { jobs }: JobTarget): Promise<PushResult> {
    return await this.#push(request, async (job) => (await jobs.enqueue([job]))[0]!);
  }

  /**
   * Builds one job as a push would, through middleware, without storing it.
   *
   * @returns undefined if middleware stopped it
   */
  async build(request: JobRequest): Promise<NewJob | undefined> {
    let built: NewJob | undefined;
    await this.#push(request, (job) => {
      built = job;
      return Promise.resolve({ kind: "stored" });
    });
    return built;
  }

  /**
   * Pushes jobs that have the same class and options, and different arguments.
   *
   * @returns for each chunk, one result per job, in order
   * @throws {InvalidPayload} if a shared option is invalid; nothing is stored then
   */
  async pushSame(
    shared: JobRequest,
    args: Items<readonly unknown[]>,
    spread: number | string,
    target: JobTarget,
  ): Promise<AsyncGenerator<PushResult[]>> {
    await this.#classes.learn(shared.class);
    const prepared = this.#builder.prepare(shared);
    await this.#webhooks.check(prepared.notify);
    if (prepared.jid !== undefined) throw new InvalidPayload("jid", prepared.jid, "none: each job gets a new ID");
    if (prepared.once !== undefined) {
      throw new InvalidPayload("id", shared["id"], "none: it names one push; see pushMany");
    }
    const delay = spreader(spread);
    return this.#middleware
      ? this.#chunksThroughMiddleware(args, (one) => ({ ...shared, args: one }), delay, target)
      : inChunks(args, target, (one) => this.#builder.build(prepared, one, delay()));
  }

  /**
   * Pushes jobs, each with its class and options.
   *
   * @returns for each chunk, one result per job, in order
   */
  pushEach<T>(
    items: Items<T>,
    request: (item: T) => JobRequest,
    spread: number | string,
    target: JobTarget,
  ): AsyncGenerator<PushResult[]> {
    const delay = spreader(spread);
    if (this.#middleware) return this.#chunksThroughMiddleware(items, request, delay, target);
    const buildNow = (job: JobRequest) => {
      const prepared = this.#builder.prepare(job);
      const build = () => this.#builder.build(prepared, job.args, delay());
      return this.#webhooks.check(prepared.notify)?.then(build) ?? build();
    };
    return inChunks(items, target, (item) => {
      const job = request(item);
      const learning = this.#classes.learn(job?.class);
      return learning === undefined ? buildNow(job) : learning.then(() => buildNow(job));
    });
  }

  /** Passes a job through middleware, if there is any, and then to `enqueue`. */
  async #push(
    request: JobRequest,
    enqueue: (job: NewJob) => Promise<EnqueueResult>,
    delayMs = 0,
  ): Promise<PushResult> {
    const learning = this.#classes.learn(request?.class);
    if (learning !== undefined) await learning;
    const store = async (prepared: Prepared, args: unknown, pushed?: string): Promise<PushResult> => {
      const job = this.#builder.build(prepared, args, delayMs, pushed);
      const checking = this.#webhooks.check(prepared.notify);
      if (checking !== undefined) await checking;
      const result = await enqueue(job);
      if (result.kind === "refused") throw batchRefusal(prepared.batch!.id, result.batch);
      if (result.kind === "existing" && result.differs) throw new UsedId(job.once!, result.first);
      return resultOf(result, job);
    };
    if (!this.#middleware) return await store(this.#builder.prepare(request), request.args);
    // The completed request has the class's options. An option that middleware removes must not come back.
    const context = { job: this.#builder.complete(request) };
    const newJid = request.jid === undefined ? context.job.jid : undefined;
    // Middleware may encrypt the arguments, with another result each time.
    const pushed = context.job["id"] === undefined ? undefined : argsText(context.job.args);
    let result: PushResult = STOPPED;
    const jid = await this.#middleware(context, async () => {
      const prepared = this.#builder.prepare(context.job, {});
      // A jid that the client has just made is new, so the store need not look for an earlier push with it.
      const { once: _, ...rest } = prepared;
      const isNew = prepared.jid === newJid && context.job["id"] === undefined;
      result = await store(isNew ? rest : prepared, context.job.args, pushed);
      return result.jid;
    });
    return jid === undefined || jid === result.jid ? result : { kind: "stored", jid };
  }

  /**
   * Pushes through middleware. The jobs of a chunk pass it at the same time, and are stored in one call. They keep their
   * order unless middleware delays one for longer than another.
   */
  async *#chunksThroughMiddleware<T>(
    items: Items<T>,
    request: (item: T) => JobRequest,
    delay: () => number,
    target: JobTarget,
  ): AsyncGenerator<PushResult[]> {
    let done = 0;
    let chunk: T[] = [];
    const flush = async () => {
      const gather = new Gather(target, this.#clock);
      const requests = chunk.map((item) => orInvalid(() => request(item)));
      let results = requests.map((): PushResult => STOPPED);
      await this.#learnAll(requests, done);
      await this.#aroundChunk({ count: chunk.length }, async () => {
        results = await Promise.all(requests.map((one) => this.#pushInto(gather, one, delay())));
        if (gather.failure) throw new BulkInterrupted(gather.failure.error, done);
      });
      done += results.length;
      chunk = [];
      return results;
    };
    for await (const item of items) {
      if (chunk.push(item) === MAX_CHUNK_JOBS) yield await flush();
    }
    if (chunk.length > 0) yield await flush();
  }

  /** Learns the classes of a chunk before its jobs begin, so that no job waits for its class and is overtaken. */
  async #learnAll(requests: readonly (JobRequest | InvalidPayload)[], done: number): Promise<void> {
    const learning = requests.map((request) =>
      request instanceof InvalidPayload ? undefined : this.#classes.learn(request?.class)
    ).filter((one) => one !== undefined);
    if (learning.length === 0) return;
    try {
      await Promise.all(learning);
    } catch (error) {
      throw new BulkInterrupted(error, done);
    }
  }

  /** Pushes one job of a chunk. An error of this job rejects only this job. */
  async #pushInto(gather: Gather, request: JobRequest | InvalidPayload, delayMs: number): Promise<PushResult> {
    try {
      if (request instanceof InvalidPayload) throw request;
      return await this.#push(request, (job) => gather.add(job), delayMs);
    } catch (error) {
      if (error instanceof InvalidPayload) return { kind: "refused", refused: error.message };
      const { class: name, message } = describeError(error);
      return { kind: "refused", refused: `${name}: ${message}` };
    }
  }
}

/** The result of a job that middleware didn't pass on. */
const STOPPED: PushResult = { kind: "refused", refused: "stopped by middleware" };

/** Returns a request; the error of an invalid one, which rejects only that job. */
function orInvalid(request: () => JobRequest): JobRequest | InvalidPayload {
  try {
    return request();
  } catch (error) {
    if (error instanceof InvalidPayload) return error;
    throw error;
  }
}

interface Pending {
  readonly job: NewJob;
  readonly result: PromiseWithResolvers<EnqueueResult>;
}

/** Gathers jobs that are pushed one by one in the same turn of the event loop into one call to the store, in their order. */
class Gather {
  readonly #store: JobTarget;
  readonly #clock: Clock;
  #pending: Pending[] = [];
  #isFlushing = false;
  #failure: { readonly error: unknown } | undefined;

  constructor(store: JobTarget, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** The first error of the store. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#failure;
  }

  /** Stores a job, together with the jobs of the same turn and after the jobs of earlier turns. */
  add(job: NewJob): Promise<EnqueueResult> {
    const result = Promise.withResolvers<EnqueueResult>();
    this.#pending.push({ job, result });
    if (!this.#isFlushing) void this.#flush();
    return result.promise;
  }

  async #flush(): Promise<void> {
    this.#isFlushing = true;
    while (this.#pending.length > 0) {
      await this.#clock.turn();
      const chunk = this.#pending;
      this.#pending = [];
      await this.#send(chunk);
    }
    this.#isFlushing = false;
  }

  async #send(chunk: readonly Pending[]): Promise<void> {
    try {
      const results = await this.#store.jobs.enqueue(chunk.map(({ job }) => job));
      chunk.forEach(({ result }, i) => result.resolve(results[i]!));
    } catch (error) {
      this.#failure ??= { error };
      for (const { result } of chunk) result.reject(error);
    }
  }
}
