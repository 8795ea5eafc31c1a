/**
 * The batch of a running job, as the job's handler uses it (`ctx.batch`).
 *
 * @module
 */
import { ADDED_BY_FIELD, type MemberLease } from "../job/batch.ts";
import type { JobClass, JsonArgs } from "../job/definition.ts";
import type { JobOptions } from "../job/payload.ts";
import type { Batch } from "./batch.ts";
import type { BatchOptions } from "./batch_options.ts";
import type { Batches, BatchStatus } from "./batches.ts";
import type { JobInput } from "./options.ts";

/** The batch of a running member. */
export class MemberBatch {
  /** The ID of the batch. */
  readonly id: string;
  readonly #by: MemberLease | undefined;
  readonly #push: (job: JobInput) => Promise<string | undefined>;
  readonly #batches: Batches;

  /** @internal */
  constructor(
    id: string,
    by: MemberLease | undefined,
    { push, batches }: { readonly push: (job: JobInput) => Promise<string | undefined>; readonly batches: Batches },
  ) {
    this.id = id;
    this.#by = by;
    this.#push = push;
    this.#batches = batches;
  }

  /**
   * Adds a job, even if the batch is closed: a batch is never finished while the member that adds is running. Once the
   * worker has lost this job, a closed batch rejects the addition.
   *
   * @returns its jid; undefined if middleware stopped it, or another job holds its unique lock
   * @throws {BatchError} if the batch was cancelled, or is closed and this job no longer runs here
   */
  // deno-lint-ignore no-explicit-any -- the definition has the types of the arguments
  add<Args extends readonly any[]>(
    job: JobClass<Args> | string,
    args: NoInfer<JsonArgs<Args>>,
    options: JobOptions = {},
  ): Promise<string | undefined> {
    return this.#push({
      ...options,
      class: job,
      args: args as readonly unknown[],
      batch: this.id,
      ...(this.#by !== undefined && { [ADDED_BY_FIELD]: this.#by }),
    });
  }

  /** Opens a batch that counts as a member of this one. */
  open(options: Omit<BatchOptions, "parent"> = {}): Promise<Batch> {
    return this.#batches.open({ ...options, parent: this.id }, this.#by);
  }

  /** Returns the batch with its counters. */
  get(): Promise<BatchStatus | undefined> {
    return this.#batches.get(this.id);
  }
}
