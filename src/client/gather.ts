/**
 * Gathers jobs that are pushed one by one in the same turn of the event loop into one call to the store, in their order.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import type { EnqueueResult, JobStore, NewJob } from "../store/port/jobs.ts";

interface Pending {
  readonly job: NewJob;
  readonly result: PromiseWithResolvers<EnqueueResult>;
}

export class Gather {
  readonly #store: { readonly jobs: Pick<JobStore, "enqueue"> };
  readonly #clock: Clock;
  #pending: Pending[] = [];
  #isFlushing = false;
  #failure: { readonly error: unknown } | undefined;

  constructor(store: { readonly jobs: Pick<JobStore, "enqueue"> }, clock: Clock) {
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
