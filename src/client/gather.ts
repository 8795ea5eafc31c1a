/**
 * Gathers jobs that are pushed one by one in the same turn of the event loop into one call of the store, in the order in
 * which they come, whether their unique locks' digests are there yet or not.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import type { EnqueueResult, JobStore, NewJob } from "../store/port/jobs.ts";

interface Waiting {
  readonly job: NewJob | Promise<NewJob>;
  readonly told: PromiseWithResolvers<EnqueueResult>;
}

/** Where jobs are gathered. */
export class Gather {
  readonly #store: { readonly jobs: Pick<JobStore, "enqueue"> };
  readonly #clock: Clock;
  #waiting: Waiting[] = [];
  #flushing = false;
  #failure: { readonly error: unknown } | undefined;

  constructor(store: { readonly jobs: Pick<JobStore, "enqueue"> }, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** What the store failed with, if it did. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#failure;
  }

  /** Stores a job together with those that come in the same turn, after those that came before. */
  add(job: NewJob | Promise<NewJob>): Promise<EnqueueResult> {
    const told = Promise.withResolvers<EnqueueResult>();
    this.#waiting.push({ job, told });
    if (!this.#flushing) void this.#flush();
    return told.promise;
  }

  async #flush(): Promise<void> {
    this.#flushing = true;
    while (this.#waiting.length > 0) {
      await this.#clock.turn();
      const batch = this.#waiting;
      this.#waiting = [];
      await this.#send(batch);
    }
    this.#flushing = false;
  }

  async #send(batch: readonly Waiting[]): Promise<void> {
    try {
      const results = await this.#store.jobs.enqueue(await Promise.all(batch.map(({ job }) => job)));
      batch.forEach(({ told }, i) => told.resolve(results[i]!));
    } catch (error) {
      this.#failure ??= { error };
      for (const { told } of batch) told.reject(error);
    }
  }
}
