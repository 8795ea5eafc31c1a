/**
 * Bulk pushes: builds and stores jobs one chunk after the other, and returns a result for each job.
 *
 * @module
 */
import { describeError } from "../job/describe_error.ts";
import { formatDuration } from "../job/duration.ts";
import { InvalidPayload } from "../job/errors.ts";
import { readSpan } from "../job/time.ts";
import { MAX_BATCH_BYTES } from "../store/port/batch_bytes.ts";
import type { EnqueueResult, JobStore, NewJob } from "../store/port/jobs.ts";
import { refusalText } from "./batch_errors.ts";
import { UsedId } from "./unique.ts";

/** The result of one push: the ID of the job, or why it isn't stored. */
export type PushResult = StoredPush | RefusedPush;

/** The job is stored. */
export interface StoredPush {
  /**
   * `replaced`: it replaced a job that waited for the same `debounce` or unique key, and has its ID. `existed`: an earlier push with
   * the same `id` or `jid` stored it.
   */
  readonly kind: "stored" | "replaced" | "existed";
  /** The job's ID. */
  readonly jid: string;
  /** Absent. */
  readonly refused?: undefined;
}

/** The job isn't stored. */
export type RefusedPush =
  & {
    /** The reason, in one line. */
    readonly refused: string;
    /** Absent. */
    readonly jid?: undefined;
  }
  & (
    /** The job `duplicateOf` holds the unique lock. */
    | { readonly kind: "duplicate"; readonly duplicateOf: string }
    /** Its `throttle` accepts the next push in `retryInMs`, when the place of the job `throttledBy` is free. */
    | { readonly kind: "throttled"; readonly throttledBy: string; readonly retryInMs: number }
    /** It is invalid, its batch accepts no members, its `id` belongs to another push, or middleware stopped it. */
    | { readonly kind: "refused" }
  );

/** Options of a bulk push. */
export interface BulkOptions {
  /** Delays each job by a random time of up to this: seconds, or `30s`, `10m`, `2h`. Default 0. */
  readonly spread?: number | string;
}

/** A call to the store has at most this many jobs. */
export const MAX_CHUNK_JOBS = 1_000;

/**
 * Builds and stores jobs, one chunk after the other.
 *
 * @param build builds a job. An {@linkcode InvalidPayload} that it throws becomes the result of that job
 * @returns for each chunk, one result per item, in order
 * @throws {BulkInterrupted} if the store fails
 */
export async function* inChunks<T>(
  items: Iterable<T> | AsyncIterable<T>,
  store: { readonly jobs: Pick<JobStore, "enqueue"> },
  build: (item: T) => NewJob | Promise<NewJob>,
): AsyncGenerator<PushResult[]> {
  let done = 0;
  let chunk = new Chunk();
  for await (const item of items) {
    try {
      const job = build(item);
      chunk.add(job instanceof Promise ? await job : job);
    } catch (error) {
      if (!(error instanceof InvalidPayload)) throw new BulkInterrupted(error, done);
      chunk.refuse(error);
    }
    if (!chunk.isFull) continue;
    yield await chunk.store(store, done);
    done += chunk.results.length;
    chunk = new Chunk();
  }
  if (chunk.results.length > 0) yield await chunk.store(store, done);
}

/** The jobs of one call to the store, with the results of these jobs and of the rejected ones between them. */
class Chunk {
  readonly results: PushResult[] = [];
  readonly #jobs: NewJob[] = [];
  /** The index of each job's result. */
  readonly #indexes: number[] = [];
  #characters = 0;
  #weight = 0;

  get isFull(): boolean {
    return this.#weight >= MAX_CHUNK_JOBS || this.#characters >= MAX_BATCH_BYTES;
  }

  add(job: NewJob): void {
    this.#indexes.push(this.results.length);
    this.#jobs.push(job);
    this.results.push({ kind: "stored", jid: job.jid });
    this.#characters += job.payload.length;
    // A store needs three times as long for a scheduled job with a lock.
    const isScheduled = job.at !== undefined || job.delayMs !== undefined;
    this.#weight += isScheduled && job.unique !== undefined || job.debounce !== undefined ? 2 : 1;
  }

  refuse(error: InvalidPayload): void {
    this.results.push({ kind: "refused", refused: error.message });
    this.#weight++;
  }

  async store(store: { readonly jobs: Pick<JobStore, "enqueue"> }, done: number): Promise<PushResult[]> {
    if (this.#jobs.length === 0) return this.results;
    let stored: EnqueueResult[];
    try {
      stored = await store.jobs.enqueue(this.#jobs);
    } catch (error) {
      throw new BulkInterrupted(error, done);
    }
    stored.forEach((result, i) => {
      this.results[this.#indexes[i]!] = resultOf(result, this.#jobs[i]!);
    });
    return this.results;
  }
}

/**
 * The store failed in the middle of a bulk push; in that of `pushBulk`, or the iterable.
 *
 * @example
 * ```ts
 * import { BulkInterrupted, Client, openStore } from "@jobs/jobs";
 *
 * await using store = await openStore("sqlite::memory:");
 * const client = new Client({ store, onUnregistered: () => {} });
 * const rows = [[1], [2], [3]];
 * try {
 *   await client.pushBulk({ class: "ImportRow", args: rows });
 * } catch (error) {
 *   if (!(error instanceof BulkInterrupted)) throw error;
 *   console.error(`Stored ${error.done} of ${rows.length}`, error.cause);
 * }
 * ```
 */
export class BulkInterrupted extends Error {
  /** `BulkInterrupted`. */
  override readonly name = "BulkInterrupted";
  /**
   * The number of jobs, counted from the first, that were stored or rejected. No job of the interrupted batch is stored,
   * and none after it. Exception: with middleware that waits, some jobs of the interrupted batch may be stored.
   */
  readonly done: number;
  /** The results of these jobs, if the caller has not received them yet. */
  readonly results: readonly PushResult[];

  /**
   * Creates the error.
   *
   * @param cause the error of the store or the iterable
   * @param done see {@linkcode BulkInterrupted.done}
   * @param results see {@linkcode BulkInterrupted.results}
   */
  constructor(cause: unknown, done: number, results: readonly PushResult[] = []) {
    super(`Bulk push interrupted after ${done} jobs: ${describeError(cause).message}`, { cause });
    this.done = done;
    this.results = results;
  }
}

/** Returns the result of a push as its caller receives it. */
export function resultOf(result: EnqueueResult, { jid, batch, once, throttle }: NewJob): PushResult {
  switch (result.kind) {
    case "stored":
      return { kind: "stored", jid };
    case "replaced":
      return result;
    case "existing":
      if (!result.differs) return { kind: "existed", jid: result.first };
      return { kind: "refused", refused: new UsedId(once!, result.first).message };
    case "refused":
      return { kind: "refused", refused: refusalText(batch!.id, result.batch) };
    case "duplicate": {
      const { kind, holder: duplicateOf } = result;
      return { kind, refused: `duplicate of job "${duplicateOf}", which holds the unique lock`, duplicateOf };
    }
    case "throttled": {
      const { kind, by: throttledBy, freeInMs: retryInMs } = result;
      const rate = `${throttle!.count} in ${formatDuration(throttle!.perMs)}`;
      const refused = `throttled: job "${throttledBy}" was pushed within the limit of ${rate}; accepted again in ` +
        formatDuration(retryInMs);
      return { kind, refused, throttledBy, retryInMs };
    }
  }
}

/**
 * Returns a function that returns a random delay for each job, in milliseconds.
 *
 * @throws {InvalidPayload} if the interval is invalid
 */
export function spreader(spread: number | string): () => number {
  if (spread === 0) return () => 0;
  const ms = readSpan("spread", spread) * 1_000;
  return () => Math.floor(Math.random() * ms);
}
