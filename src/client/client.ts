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
import { InvalidPayload } from "../job/errors.ts";
import { JidMaker } from "../job/jid.ts";
import { argsText, type JobOptions, type JobRequest, payloadText, prepare, type Prepared } from "../job/payload.ts";
import { compose, type PushMiddleware } from "../middleware/chain.ts";
import type { NewJob, Store } from "../store/store.ts";
import { uniqueKey } from "./unique.ts";

export type { JobOptions, JobRequest } from "../job/payload.ts";

/** What a client is made with. */
export interface ClientOptions {
  /** Where jobs go. */
  readonly store: Pick<Store, "enqueue">;
  /** Default: the system's. */
  readonly clock?: Clock;
  /** Around every push; the first one is outermost. */
  readonly middleware?: readonly PushMiddleware[];
  /** A larger payload is refused; default 1 MiB. */
  readonly maxPayloadBytes?: number;
  /** How times are written; default 7, seconds with a fraction. */
  readonly sidekiqWire?: 7 | 8;
  /** What a class says about its jobs. */
  readonly classOptions?: (className: string) => Readonly<Record<string, unknown>> | undefined;
}

/** What became of one job of many. */
export type PushResult =
  /** It is stored. */
  | { readonly jid: string }
  /** It is not, and why. */
  | { readonly jid?: undefined; readonly refused: string };

/** Jobs of one class, with a list of arguments for each. */
export interface BulkRequest extends JobOptions {
  /** The class whose handler performs them. */
  readonly class: string;
  /** One array of arguments per job. */
  readonly args: readonly (readonly unknown[])[];
  /** Spread them evenly at random over so many milliseconds. */
  readonly spreadMs?: number;
}

/** Jobs per call of the store. */
const BATCH = 1_000;

/** Puts jobs into a store. */
export class Client {
  readonly #store: Pick<Store, "enqueue">;
  readonly #clock: Clock;
  readonly #middleware: ReturnType<typeof compose<{ job: JobRequest }, string | undefined>> | undefined;
  readonly #maxPayloadBytes: number;
  readonly #wire: 7 | 8;
  readonly #classOptions: (className: string) => Readonly<Record<string, unknown>> | undefined;
  readonly #jids = new JidMaker();

  /** A client of one store. */
  constructor(options: ClientOptions) {
    this.#store = options.store;
    this.#clock = options.clock ?? systemClock;
    this.#middleware = options.middleware?.length ? compose(options.middleware) : undefined;
    this.#maxPayloadBytes = options.maxPayloadBytes ?? 1024 * 1024;
    this.#wire = options.sidekiqWire ?? 7;
    this.#classOptions = options.classOptions ?? (() => undefined);
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
  // deno-lint-ignore no-explicit-any -- what the arguments are stands in the definition
  /** The same, typed, of what `defineJob` made. */
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
    const job = this.#request(what, args, options);
    if (!this.#middleware) return await this.#store1(job);
    const context = { job };
    return await this.#middleware(context, () => this.#store1(context.job));
  }

  /**
   * Pushes jobs of one class, in batches of 1,000.
   *
   * @returns one result per job, in order
   * @throws {InvalidPayload} when class or options are wrong; nothing is stored then
   * @throws {BulkInterrupted} when the store fails on the way
   */
  async pushBulk(request: BulkRequest): Promise<PushResult[]> {
    const { args, spreadMs, ...common } = request;
    if (!Array.isArray(args)) throw new InvalidPayload("args", args, "an array of arrays, one for each job");
    const results: PushResult[] = [];
    if (this.#middleware || spreadMs !== undefined || common.unique_for !== undefined) {
      const jobs = args.map((one) => ({ ...common, args: one, ...(spreadMs && this.#spread(common, spreadMs)) }));
      for await (const result of this.pushMany(jobs)) results.push(result);
      return results;
    }
    const prepared = prepare(common, this.#classOptions(common.class), this.#clock.now());
    for (let from = 0; from < args.length; from += BATCH) {
      const batch: NewJob[] = [];
      const slots: PushResult[] = [];
      for (const one of args.slice(from, from + BATCH)) {
        slots.push(this.#attempt(() => this.#newJob(prepared, one), batch));
      }
      await this.#enqueue(batch, slots, results);
      results.push(...slots);
    }
    return results;
  }

  /**
   * Pushes any jobs, from any iterable, in batches of up to 1,000; no more than one batch is in memory.
   *
   * @returns one result per job, in order
   * @throws {BulkInterrupted} when the store fails on the way
   */
  async *pushMany(jobs: Iterable<JobRequest> | AsyncIterable<JobRequest>): AsyncGenerator<PushResult> {
    let stored = 0;
    let requests: JobRequest[] = [];
    const flush = async () => {
      const results = await this.#pushBatch(requests, stored);
      stored += results.filter((result) => result.jid !== undefined).length;
      requests = [];
      return results;
    };
    for await (const job of jobs) {
      requests.push(job);
      if (requests.length === BATCH) yield* await flush();
    }
    if (requests.length > 0) yield* await flush();
  }

  // deno-lint-ignore no-explicit-any -- as above
  #request(
    what: JobRequest | string | JobClass<any>,
    args?: readonly unknown[],
    options?: JobOptions,
  ): JobRequest {
    if (typeof what === "object" && what !== null) return what;
    if (typeof what === "function") return { ...what.options, ...options, class: what.class, args: args ?? [] };
    return { ...options, class: what, args: args ?? [] };
  }

  async #store1(request: JobRequest): Promise<string | undefined> {
    const prepared = this.#prepare(request);
    const job = this.#newJob(prepared, request.args);
    const [result] = await this.#store.enqueue([await this.#withLock(prepared, job, request.args)]);
    return result?.stored ? job.jid : undefined;
  }

  async #pushBatch(requests: readonly JobRequest[], storedBefore: number): Promise<PushResult[]> {
    const batch: NewJob[] = [];
    const slots: PushResult[] = [];
    for (const request of requests) {
      if (this.#middleware) {
        slots.push(await this.#pushOne(request));
        continue;
      }
      const slot = this.#attempt(() => this.#newJob(this.#prepare(request), request.args), batch);
      if (slot.jid !== undefined && request.unique_for !== undefined) {
        batch.push(await this.#withLock(this.#prepare(request), batch.pop()!, request.args));
      }
      slots.push(slot);
    }
    await this.#enqueue(batch, slots, { length: storedBefore });
    return slots;
  }

  /** With middleware, each job goes its own way. */
  async #pushOne(request: JobRequest): Promise<PushResult> {
    try {
      const jid = await this.push(request);
      return jid === undefined ? { refused: "stopped by middleware or by a job like this" } : { jid };
    } catch (error) {
      if (error instanceof InvalidPayload) return { refused: error.message };
      throw error;
    }
  }

  /** Makes a job for the batch, or says why it is refused. */
  #attempt(make: () => NewJob, batch: NewJob[]): PushResult {
    try {
      const job = make();
      batch.push(job);
      return { jid: job.jid };
    } catch (error) {
      if (error instanceof InvalidPayload) return { refused: error.message };
      throw error;
    }
  }

  async #enqueue(batch: readonly NewJob[], slots: PushResult[], before: { readonly length: number }): Promise<void> {
    if (batch.length === 0) return;
    let results;
    try {
      results = await this.#store.enqueue(batch);
    } catch (error) {
      throw new BulkInterrupted(before.length, error as Error);
    }
    results.forEach((result, i) => {
      if (result.stored) return;
      const slot = slots.findIndex((one) => one.jid === batch[i]!.jid);
      slots[slot] = { refused: `job "${result.holder}" is there already, with the same class, queue and arguments` };
    });
  }

  #prepare(request: JobRequest): Prepared {
    if (typeof request !== "object" || request === null) {
      throw new InvalidPayload("job", request, "an object with class and args");
    }
    const options = typeof request.class === "string" ? this.#classOptions(request.class) : undefined;
    return prepare(request, options, this.#clock.now());
  }

  #newJob(prepared: Prepared, args: unknown): NewJob {
    const now = this.#clock.now();
    const jid = prepared.jid ?? this.#jids.next(now);
    const payload = payloadText(prepared, argsText(args), jid, now, this.#wire);
    // A character is at most three bytes: only a payload that might be too large is measured.
    if (payload.length * 3 > this.#maxPayloadBytes) this.#checkSize(payload);
    const { queue, at, delayMs } = prepared;
    if (at !== undefined) return { jid, queue, payload, at };
    return delayMs === undefined ? { jid, queue, payload } : { jid, queue, payload, delayMs };
  }

  async #withLock(prepared: Prepared, job: NewJob, args: readonly unknown[]): Promise<NewJob> {
    if (prepared.uniqueForMs === undefined) return job;
    const key = await uniqueKey(prepared.className, prepared.queue, argsText(args));
    const later = prepared.delayMs ?? Math.max(0, (prepared.at ?? 0) - this.#clock.now());
    return {
      ...job,
      payload: `${job.payload.slice(0, -1)},"unique_key":"${key}"}`,
      unique: { key, ttlMs: prepared.uniqueForMs + later },
    };
  }

  #checkSize(payload: string): void {
    const bytes = new TextEncoder().encode(payload).length;
    if (bytes > this.#maxPayloadBytes) {
      throw new InvalidPayload(
        "payload",
        `${bytes} bytes`,
        `at most ${this.#maxPayloadBytes}; push a reference instead`,
      );
    }
  }

  /** A moment of its own for each job, at random within the interval. */
  #spread(common: { in?: unknown; at?: unknown }, spreadMs: number): { in: number } {
    if (common.in !== undefined || common.at !== undefined) {
      throw new InvalidPayload("spreadMs", spreadMs, "either spreadMs, or in or at");
    }
    return { in: Math.random() * spreadMs / 1_000 };
  }
}

/** The store failed in the middle of a bulk push. */
export class BulkInterrupted extends Error {
  /** Told apart by name. */
  override readonly name = "BulkInterrupted";
  /** How many results there were before: those jobs are stored or refused; the rest is not stored. */
  readonly done: number;

  /**
   * An interruption.
   *
   * @param done results before it
   * @param cause what the store said
   */
  constructor(done: number, cause: Error) {
    super(`Bulk push interrupted after ${done} jobs: ${cause.message}`, { cause });
    this.done = done;
  }
}
