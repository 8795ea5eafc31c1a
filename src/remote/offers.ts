/**
 * The jobs that have begun here, and that the program hasn't taken: its requests for jobs, and their answers.
 *
 * Jobs are taken from the store only while a request waits, and at most as many as it asks for. If the program closes its request, it may
 * be gone: the jobs on their way return to their queues.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import { Released } from "../steps/errors.ts";
import type { RemoteJob } from "./remote_job.ts";

/** A request that doesn't wait for jobs is answered after this time: the store must be asked first. */
const MIN_WAIT_MS = 50;

export interface OffersOptions {
  readonly clock: Clock;
  /** Takes jobs from the store, as many as {@linkcode Offers.demand}. */
  readonly fetch: () => void;
  /** The last request whose answer the program has from another process. */
  readonly taken: number;
  /** Called with the jobs of an answer, and the number of its request. */
  readonly onTaken: (jobs: readonly RemoteJob[], take: number) => void;
}

export class Offers {
  readonly #options: OffersOptions;
  /** Oldest first. */
  #jobs: RemoteJob[] = [];
  /** The last answer, which may have been lost. */
  #last: { readonly number: number; readonly jobs: Promise<readonly RemoteJob[]> } | undefined;
  /** The request that waits. */
  #request: { readonly limit: number; readonly answer: () => void } | undefined;
  /** Resolves at the next request. */
  #next = Promise.withResolvers<void>();
  #isAway = false;
  #isClosed = false;

  constructor(options: OffersOptions) {
    this.#options = options;
  }

  /** How many jobs to take from the store. */
  get demand(): number {
    return this.#request ? this.#request.limit - this.#jobs.length : 0;
  }

  /** Whether a request waits. */
  get isWaiting(): boolean {
    return this.#request !== undefined;
  }

  /** Whether the program has closed its last request: it gets no jobs until the next one. */
  get isAway(): boolean {
    return this.#isAway;
  }

  /** Offers a job. */
  add(job: RemoteJob): void {
    this.#jobs.push(job);
    // The jobs that begin in this turn are taken together.
    void this.#options.clock.turn().then(() => this.answer());
  }

  /** Returns whether a job is still offered. */
  has(job: RemoteJob): boolean {
    return this.#jobs.includes(job);
  }

  /** Removes a job that has ended. */
  remove(job: RemoteJob): void {
    const at = this.#jobs.indexOf(job);
    if (at >= 0) this.#jobs.splice(at, 1);
  }

  /** Answers the request that waits. */
  answer(): void {
    this.#request?.answer();
  }

  /**
   * Resolves when the program asks for jobs, at its next request: it may have been frozen since the last one, which is answered
   * without a job.
   */
  awake(): Promise<void> {
    const { promise } = this.#next;
    this.answer();
    return promise;
  }

  /** Returns the jobs to their queues. */
  withdraw(): void {
    for (const job of this.#jobs) job.fail(new Released());
  }

  /** Answers requests at once from now on. */
  close(): void {
    this.#isClosed = true;
    this.answer();
  }

  /**
   * Takes jobs: those that are offered, or else the first ones within a time.
   *
   * @param number of the request: the same number again returns the same jobs. The program doesn't wait any more for an answer to a lower
   * one, which was on its way for long
   */
  take(number: number, limit: number, waitMs: number, signal: AbortSignal): Promise<readonly RemoteJob[]> {
    if (number < (this.#last?.number ?? this.#options.taken + 1)) return Promise.resolve([]);
    if (this.#last?.number !== number) this.#last = { number, jobs: this.#take(number, limit, waitMs, signal) };
    return this.#last.jobs.then((jobs) => jobs.filter(({ isOver }) => !isOver));
  }

  async #take(number: number, limit: number, waitMs: number, signal: AbortSignal): Promise<readonly RemoteJob[]> {
    const { clock, fetch, onTaken } = this.#options;
    // The program waits for no earlier answer: the jobs that are offered are for this request.
    this.answer();
    this.#request = undefined;
    this.#isAway = false;
    if (this.#jobs.length === 0 && !this.#isClosed) {
      const answered = new AbortController();
      const request = this.#request = { limit, answer: () => answered.abort("answered") };
      this.#next.resolve();
      this.#next = Promise.withResolvers();
      fetch();
      await clock.sleep(Math.max(waitMs, MIN_WAIT_MS), AbortSignal.any([signal, answered.signal]));
      // A later request has taken its place.
      if (this.#request !== request) return [];
      this.#request = undefined;
    }
    if (signal.aborted) {
      this.#isAway = true;
      this.withdraw();
      return [];
    }
    const jobs = this.#jobs.splice(0, limit);
    onTaken(jobs, number);
    return jobs;
  }
}
