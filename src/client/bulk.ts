/**
 * Pushing many jobs: building and storing them one batch after the other, and what became of each.
 *
 * @module
 */
import { refusalText } from "./batches.ts";
import { describeError, InvalidPayload } from "../job/errors.ts";
import { MAX_BATCH_BYTES } from "../store/port/batch_bytes.ts";
import type { EnqueueResult, JobStore, NewJob } from "../store/port/jobs.ts";

/** What happened to one push. */
export type PushResult =
  /** The job is stored; `existed`: by an earlier push with the same `id` or `jid`, and this is its jid. */
  | { readonly jid: string; readonly existed?: true; readonly refused?: undefined; readonly duplicateOf?: undefined }
  /** It isn't, and why; for a duplicate, the jid of the job that holds the unique lock. */
  | { readonly jid?: undefined; readonly existed?: undefined; readonly refused: string; readonly duplicateOf?: string };

/** How many jobs are pushed. */
export interface BulkOptions {
  /** Spread them at random over so many milliseconds from the time at which they would run. */
  readonly spreadMs?: number;
}

/** The most jobs per call of the store. */
export const BATCH = 1_000;

/**
 * Builds and stores jobs, one batch after the other.
 *
 * @param build makes a job; what it refuses is told in the job's place
 * @returns for each batch one result per item, in order
 * @throws {BulkInterrupted} when the store fails
 */
export async function* inBatches<T>(
  items: Iterable<T> | AsyncIterable<T>,
  store: { readonly jobs: Pick<JobStore, "enqueue"> },
  build: (item: T) => NewJob | Promise<NewJob>,
): AsyncGenerator<PushResult[]> {
  let done = 0;
  let batch = new Batch();
  for await (const item of items) {
    try {
      const job = build(item);
      batch.add(job instanceof Promise ? await job : job);
    } catch (error) {
      if (!(error instanceof InvalidPayload)) throw new BulkInterrupted(error, done);
      batch.refuse(error);
    }
    if (!batch.full) continue;
    yield await batch.store(store, done);
    done += batch.results.length;
    batch = new Batch();
  }
  if (batch.results.length > 0) yield await batch.store(store, done);
}

/** Jobs for one call of the store, and what becomes of them and of those refused between them. */
class Batch {
  readonly results: PushResult[] = [];
  readonly #jobs: NewJob[] = [];
  /** Of each job, its place among the results. */
  readonly #places: number[] = [];
  #characters = 0;
  #weight = 0;

  get full(): boolean {
    return this.#weight >= BATCH || this.#characters >= MAX_BATCH_BYTES;
  }

  add(job: NewJob): void {
    this.#places.push(this.results.length);
    this.#jobs.push(job);
    this.results.push({ jid: job.jid });
    this.#characters += job.payload.length;
    // A job for later that has a lock takes a store three times as long.
    const isLater = job.at !== undefined || job.delayMs !== undefined;
    this.#weight += isLater && job.unique !== undefined ? 2 : 1;
  }

  refuse(error: InvalidPayload): void {
    this.results.push({ refused: error.message });
    this.#weight++;
  }

  async store(store: { readonly jobs: Pick<JobStore, "enqueue"> }, done: number): Promise<PushResult[]> {
    if (this.#jobs.length === 0) return this.results;
    let answers: EnqueueResult[];
    try {
      answers = await store.jobs.enqueue(this.#jobs);
    } catch (error) {
      throw new BulkInterrupted(error, done);
    }
    answers.forEach((answer, i) => {
      if (!answer.stored) this.results[this.#places[i]!] = unstored(answer, this.#jobs[i]!);
    });
    return this.results;
  }
}

/** The store failed in the middle of a bulk push. */
export class BulkInterrupted extends Error {
  /** `BulkInterrupted`. */
  override readonly name = "BulkInterrupted";
  /**
   * How many jobs, from the first on, were stored or refused before. Of the batch under way none is stored (with
   * middleware that waits, some may be), and nothing after it.
   */
  readonly done: number;
  /** What became of those, where it was not told yet. */
  readonly results: readonly PushResult[];

  /**
   * An interruption.
   *
   * @param cause what the store said
   * @param done see there
   * @param results see there
   */
  constructor(cause: unknown, done: number, results: readonly PushResult[] = []) {
    super(`Bulk push interrupted after ${done} jobs: ${describeError(cause).message}`, { cause });
    this.done = done;
    this.results = results;
  }
}

/** Returns the result of a job that was not stored: because of an earlier push with its key, of a lock, or of its batch. */
export function unstored(answer: Exclude<EnqueueResult, { readonly stored: true }>, { batch }: NewJob): PushResult {
  if (answer.batch !== undefined) return { refused: refusalText(batch!.id, answer.batch) };
  if (answer.first !== undefined) return { jid: answer.first, existed: true };
  const refused = `job "${answer.holder}" is there already, with the same class, queue and arguments`;
  return { refused, duplicateOf: answer.holder };
}

/**
 * Tells each job how much later it runs: a moment of its own within the interval.
 *
 * @throws {InvalidPayload} when it is no interval
 */
export function spreader(spreadMs: number): () => number {
  if (spreadMs === 0) return () => 0;
  if (!(Number.isFinite(spreadMs) && spreadMs > 0)) {
    throw new InvalidPayload("spreadMs", spreadMs, "milliseconds, from 0");
  }
  return () => Math.floor(Math.random() * spreadMs);
}
