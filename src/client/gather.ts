/**
 * Gathers jobs that are pushed one by one in the same turn of the event loop into one call of the store.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import type { EnqueueResult, NewJob, Store } from "../store/store.ts";

/** Where jobs are gathered. */
export class Gather {
  readonly #store: Pick<Store, "enqueue">;
  readonly #clock: Clock;
  #waiting: { readonly job: NewJob; readonly told: PromiseWithResolvers<EnqueueResult> }[] = [];
  #failure: { readonly error: unknown } | undefined;

  constructor(store: Pick<Store, "enqueue">, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** What the store failed with, if it did. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#failure;
  }

  /** Stores a job together with those that come in the same turn. */
  add(job: NewJob): Promise<EnqueueResult> {
    const told = Promise.withResolvers<EnqueueResult>();
    if (this.#waiting.push({ job, told }) === 1) void this.#flush();
    return told.promise;
  }

  async #flush(): Promise<void> {
    await this.#clock.turn();
    const batch = this.#waiting;
    this.#waiting = [];
    try {
      const results = await this.#store.enqueue(batch.map(({ job }) => job));
      batch.forEach(({ told }, i) => told.resolve(results[i]!));
    } catch (error) {
      this.#failure ??= { error };
      for (const { told } of batch) told.reject(error);
    }
  }
}
