/**
 * An open batch. Adds jobs from any iterable without keeping them all in memory, and closes the batch.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import type { JobClass, JsonArgs } from "../job/definition.ts";
import type { JobOptions } from "../job/payload.ts";
import type { CloseResult } from "../store/port/batches.ts";
import type { NewJob } from "../store/port/jobs.ts";
import { BatchError, batchRefusal } from "./batch_errors.ts";
import type { PushResult } from "./bulk.ts";
import type { ClientStore, JobInput } from "./options.ts";

/** `add` waits while this many jobs of an open batch are in memory. */
const MAX_BUFFERED = 1_000;

/** Adds a job to a batch. */
export interface AddToBatch {
  /**
   * Adds a job of a class that `defineJob` returned. Resolves when there is room in memory for more jobs; the job is
   * stored shortly after. If storing fails, the next `add` and `close` reject. A job whose unique lock another job holds is
   * not added: see {@linkcode Batch.duplicates}.
   */
  // deno-lint-ignore no-explicit-any -- the definition has the types of the arguments
  <Args extends readonly any[]>(
    definition: JobClass<Args>,
    args: NoInfer<JsonArgs<Args>>,
    options?: JobOptions,
  ): Promise<void>;
  /** Adds a job of a class by its name. */
  (className: string, args?: readonly unknown[], options?: JobOptions): Promise<void>;
  /** Adds a job. */
  (job: JobInput): Promise<void>;
}

/** The parts of a client that batches use. */
export interface BatchServices {
  /** Undefined for a client that only pushes jobs. */
  readonly store: ClientStore["batches"];
  /** The whole store. Undefined if it has no part for operators. */
  readonly operated: object | undefined;
  /** The clock of IDs and polls. */
  readonly clock: Clock;
  /** Stores jobs through middleware. */
  readonly pushMany: (jobs: Iterable<JobInput>) => AsyncIterable<PushResult>;
  /** Builds a job without storing it. */
  readonly build: (job: JobInput) => Promise<NewJob | undefined>;
  /** Checks the webhooks that a batch notifies. */
  readonly webhooks: { check(names: readonly string[] | undefined): Promise<void> | undefined };
}

/**
 * An open batch. Closing it twice throws.
 *
 * @example
 * ```ts
 * import { Client, openStore } from "@jobs/jobs";
 *
 * await using store = await openStore("sqlite::memory:");
 * const client = new Client({ store, onUnregistered: () => {} });
 * const batch = await client.batches.open({ name: "import", success: { class: "Notify", args: [] } });
 * await batch.add("ImportRow", [1]);
 * await batch.close(); // its callbacks can follow from now on
 * ```
 */
export class Batch {
  /** The ID of the batch. Another program adds jobs with it: `{ batch: id }`. */
  readonly id: string;
  readonly #services: BatchServices;
  #buffered: JobInput[] = [];
  #flushing: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;
  #closed = false;
  #added = 0;
  #duplicates = 0;

  /** @internal */
  constructor(id: string, services: BatchServices) {
    this.id = id;
    this.#services = services;
  }

  /** The number of jobs that this object has stored. */
  get added(): number {
    return this.#added;
  }

  /** The number of jobs that are neither stored nor counted, because another job held their unique lock. */
  get duplicates(): number {
    return this.#duplicates;
  }

  /** Adds a job: see {@linkcode AddToBatch}. */
  readonly add: AddToBatch = async (
    // deno-lint-ignore no-explicit-any -- a class with any arguments
    job: JobInput | string | JobClass<any>,
    args?: readonly unknown[],
    options?: JobOptions,
  ): Promise<void> => {
    if (this.#closed) throw new BatchError(`Cannot add to batch "${this.id}": it is closed; open another one`);
    this.#throwFailure();
    const input = typeof job === "object" ? job : {
      ...options,
      class: job,
      ...(args !== undefined && { args }),
    };
    this.#buffered.push({ ...input, batch: this.id });
    this.#flushing ??= this.#flush();
    while (this.#buffered.length >= MAX_BUFFERED && this.#failure === undefined) await this.#flushing;
    this.#throwFailure();
  };

  /** Resolves when all added jobs are stored. */
  async flush(): Promise<void> {
    while (this.#flushing !== undefined) await this.#flushing;
    this.#throwFailure();
  }

  /**
   * Closes the batch. Only running members can add jobs from then on. The callbacks are pushed when the members have
   * ended. If the store fails, it can be called again.
   *
   * @throws {BatchError} if the batch is closed already
   */
  async close(): Promise<void> {
    if (this.#closed) throw new BatchError(`Cannot close batch "${this.id}": it is already closed`);
    // Not later: nothing would report that the store rejects a job that is added in the meantime.
    this.#closed = true;
    let result: CloseResult;
    try {
      await this.flush();
      result = await this.#services.store!.close(this.id, "closed");
    } catch (error) {
      this.#closed = false;
      throw error;
    }
    if (result === undefined) throw batchRefusal(this.id, "missing", "close");
    // A close whose reply was lost is sent again and finds the batch closed: that is success, not an error.
    if (!result.done && result.closedAs !== "closed") throw batchRefusal(this.id, result.closedAs, "close");
  }

  /** Abandons the batch: pushes the `abandoned` callback. Members that are stored still run. */
  async abandon(): Promise<void> {
    this.#closed = true;
    this.#buffered = [];
    await this.#flushing;
    await this.#services.store!.close(this.id, "abandoned");
  }

  #rejected(reason: string): BatchError {
    return new BatchError(`Cannot add to batch "${this.id}": ${reason.replace(`batch "${this.id}"`, "it")}`);
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** Stores the buffered jobs, and those added in the meantime. Never rejects; a failure is kept in `#failure`. */
  async #flush(): Promise<void> {
    try {
      // Jobs that are added in the same turn of the event loop share one write.
      await this.#services.clock.turn();
      while (this.#buffered.length > 0) {
        const jobs = this.#buffered;
        this.#buffered = [];
        for await (const result of this.#services.pushMany(jobs)) {
          if (result.kind === "refused") throw this.#rejected(result.refused);
          if (result.kind === "duplicate" || result.kind === "throttled") this.#duplicates++;
          else this.#added++;
        }
      }
    } catch (error) {
      this.#failure ??= { error };
      this.#buffered = [];
    } finally {
      this.#flushing = undefined;
    }
  }
}
