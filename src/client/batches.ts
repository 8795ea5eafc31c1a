/**
 * Batches: opens them, reads them and waits for them.
 *
 * @module
 */
import { BATCH_EVENTS, type BatchEvent, COUNTED_FIELD, type MemberLease } from "../job/batch.ts";
import { InvalidPayload } from "../job/errors.ts";
import { JidMaker } from "../job/jid.ts";
import { idKey } from "../job/push_keys.ts";
import { setFields } from "../job/raw.ts";
import { readSpan } from "../job/time.ts";
import {
  type Batch as StoredBatch,
  type BatchCallback,
  type BatchMember,
  type BatchPage,
  type FirstBatch,
  type NewBatch,
  TEND_LIMIT,
} from "../store/port/batches.ts";
import type { OnceKey } from "../store/port/jobs.ts";
import type { BatchOpsStore } from "../store/ops/batches.ts";
import { Batch, type BatchServices } from "./batch.ts";
import { BatchError, batchRefusal, cancelRefusal, retryRefusal } from "./batch_errors.ts";
import { JOB_EXAMPLE } from "./json_object.ts";
import { checkListRequest, type ListRequest } from "./list_request.ts";
import { uniqueKey, UsedId } from "./unique.ts";
import { type BatchOptions, checkBatchOptions } from "./batch_options.ts";

/** A batch with its counters. */
export type BatchStatus = StoredBatch;

const DEFAULT_CLOSE_WITHIN = "1d";
const DEFAULT_KEEP = "7d";
/** `wait` polls at this interval at first. The interval doubles up to {@linkcode MAX_POLL_MS}. */
const MIN_POLL_MS = 50;
const MAX_POLL_MS = 1_000;

/** Opens batches, reads them and waits for them. */
export class Batches {
  readonly #services: BatchServices;
  readonly #ids = new JidMaker();

  /** @internal */
  constructor(services: BatchServices) {
    this.#services = services;
  }

  /**
   * Opens a batch. Close it when all its members are added.
   *
   * @param by the member of the parent that opens it; a running member may open it even if the parent is closed
   * @throws {InvalidPayload} if an option or a callback is invalid; nothing is stored then
   * @throws {BatchError} if its parent rejects new members
   */
  async open(options?: BatchOptions, by?: MemberLease): Promise<Batch> {
    const id = this.newId();
    await this.#open(options ?? {}, by, { id });
    return new Batch(id, this.#services);
  }

  /**
   * @internal Opens a batch, unless an earlier call has opened one with the same key.
   *
   * @throws {UsedId} if that one had other options
   */
  async openOnce(
    options: BatchOptions,
    key: string,
    text: string,
  ): Promise<{ readonly id: string; readonly existed: boolean }> {
    const id = this.newId();
    const once: OnceKey = { ...idKey("batch", key, undefined)!, fingerprint: uniqueKey("batch", "", text) };
    const opened = await this.#open(options, undefined, { id, once });
    if (opened?.differs) throw new UsedId(once, opened.first);
    return { id: opened?.first ?? id, existed: opened !== undefined };
  }

  /** @internal Returns a new ID. It sorts by age. */
  newId(): string {
    return this.#ids.next(this.#services.clock.now());
  }

  /**
   * @internal Opens a batch as a flow.
   *
   * @returns the flow that was pushed with the same once key, if there is one; then none is opened
   */
  openFlow(id: string, options: BatchOptions, once: OnceKey | undefined): Promise<FirstBatch | undefined> {
    return this.#open(options, undefined, { id, flow: true, ...(once && { once }) });
  }

  /** @internal Starts a flow whose nodes are stored: pushes those that wait for none. */
  async startFlow(id: string): Promise<void> {
    await this.close(id);
    while ((await this.#store().tend(TEND_LIMIT, "nodes")).more);
  }

  /** Returns a batch; undefined if it doesn't exist, or its retention has expired. */
  async get(id: string): Promise<BatchStatus | undefined> {
    return (await this.#store().read({ ids: [checkId(id)] })).batches[0];
  }

  /**
   * Returns a page of batches, latest first. Default limit: 25.
   *
   * @throws {InvalidPayload} if the limit or the cursor is invalid
   */
  async list(request: ListRequest = {}): Promise<BatchPage> {
    return await this.#store().read(checkListRequest(request));
  }

  /** @internal Returns a page of flows, latest first. */
  async listFlows(request: ListRequest): Promise<BatchPage> {
    return await this.#store().read({ ...checkListRequest(request), flows: true });
  }

  /** Closes a batch that another program opened. */
  async close(id: string): Promise<void> {
    await new Batch(checkId(id), this.#services).close();
  }

  /**
   * Cancels a batch: closes it, removes its members that wait, and has its running ones aborted. On Redis, looks through all
   * jobs of the store.
   *
   * @returns how many jobs are cancelled
   * @throws {BatchError} if it doesn't exist, or has ended
   */
  async cancel(id: string): Promise<number> {
    return await this.#cancel(checkId(id), "batch");
  }

  /**
   * Enqueues the dead members of a batch again. On Redis, looks through all dead jobs.
   *
   * @returns how many
   * @throws {BatchError} if the batch doesn't exist, or was cancelled
   */
  async retry(id: string): Promise<number> {
    return await this.#retry(checkId(id), "batch");
  }

  /** @internal Cancels a flow. */
  cancelFlow(id: string): Promise<number> {
    return this.#cancel(id, "flow");
  }

  /** @internal Enqueues the dead nodes of a flow again. */
  retryFlow(id: string): Promise<number> {
    return this.#retry(id, "flow");
  }

  /**
   * Waits until each member of a closed batch has ended or is dead, or waits in a flow for one that is dead.
   *
   * @returns the batch at that moment; undefined if `signal` aborts first, or the batch doesn't exist
   */
  async wait(id: string, { signal }: { readonly signal?: AbortSignal } = {}): Promise<BatchStatus | undefined> {
    for (let pauseMs = MIN_POLL_MS; !signal?.aborted; pauseMs = Math.min(2 * pauseMs, MAX_POLL_MS)) {
      const batch = await this.get(id);
      if (batch === undefined || (batch.closedAt !== undefined && hasEnded(batch))) return batch;
      await this.#services.clock.sleep(pauseMs, signal);
    }
    return undefined;
  }

  async #cancel(id: string, kind: "batch" | "flow"): Promise<number> {
    const store = this.#operated(kind);
    await this.#require(id, kind, "cancel");
    // Most programs cancel no batch.
    const { cancelBatch } = await import("../store/ops/batches.ts");
    const closed = await cancelBatch(store, id, this.#services.clock.now());
    if (closed === undefined) throw notFound(kind, id, "cancel");
    const refusal = cancelRefusal(kind, { id, ...closed });
    if (refusal !== undefined) throw new BatchError(refusal);
    return closed.members;
  }

  async #retry(id: string, kind: "batch" | "flow"): Promise<number> {
    const store = this.#operated(kind);
    const refusal = retryRefusal(kind, await this.#require(id, kind, "retry"));
    if (refusal !== undefined) throw new BatchError(refusal);
    const { retryBatch } = await import("../store/ops/batches.ts");
    return await retryBatch(store, id);
  }

  /** Returns the batch. @throws {BatchError} unless one of this kind exists */
  async #require(id: string, kind: "batch" | "flow", verb: string): Promise<StoredBatch> {
    const batch = (await this.#store().read({ ids: [id] })).batches[0];
    if (batch === undefined || (kind === "flow" && !batch.flow)) throw notFound(kind, id, verb);
    return batch;
  }

  #operated(kind: "batch" | "flow"): BatchOpsStore {
    const { operated } = this.#services;
    if (operated !== undefined) return operated as BatchOpsStore;
    throw new BatchError(`Cannot cancel or retry a ${kind} here: the client's store has no part for operators`);
  }

  async #open(
    options: BatchOptions,
    by: MemberLease | undefined,
    identity: Pick<NewBatch, "id" | "flow" | "once">,
  ): Promise<FirstBatch | undefined> {
    checkBatchOptions(options);
    const { id, once } = identity;
    const notify = options.notify === undefined ? undefined : [options.notify].flat();
    await this.#services.webhooks.check(notify);
    const { name, tags, parent, closeWithin = DEFAULT_CLOSE_WITHIN, keepFor = DEFAULT_KEEP } = options;
    const member: BatchMember | undefined = parent === undefined
      ? undefined
      : { id: parent, ...(by !== undefined && { by }) };
    const batch: NewBatch = {
      ...identity,
      ...(name !== undefined && { name }),
      ...(tags !== undefined && { tags }),
      ...(notify !== undefined && { notify }),
      ...(member !== undefined && { parent: member }),
      callbacks: await this.#callbacks(id, options),
      closeWithinMs: readSpan("closeWithin", closeWithin) * 1_000,
      // While its key is remembered, the record tells whether the flow was abandoned.
      keepMs: Math.max(readSpan("keepFor", keepFor) * 1_000, once?.ttlMs ?? 0),
    };
    const result = await this.#store().create(batch);
    if (typeof result === "string") throw batchRefusal(parent!, result, "open a batch in");
    return result;
  }

  #store(): NonNullable<BatchServices["store"]> {
    const { store } = this.#services;
    if (store === undefined) {
      throw new BatchError("Batches cannot be opened or read here: the client's store has none");
    }
    return store;
  }

  /** Builds the callbacks as a push would, each with a jid that is derived from the ID of the batch. */
  async #callbacks(id: string, options: BatchOptions): Promise<NewBatch["callbacks"]> {
    const callbacks: Partial<Record<BatchEvent, BatchCallback>> = {};
    for (const event of BATCH_EVENTS) {
      const given = options[event];
      if (given === undefined) continue;
      if (typeof given !== "object" || given === null) throw new InvalidPayload(event, given, JOB_EXAMPLE);
      for (const field of ["in", "at", "unique_for", "debounce", "throttle", "batch", "jid"] as const) {
        if (given[field] !== undefined) {
          throw new InvalidPayload(`${event}.${field}`, given[field], "no such option on a callback");
        }
      }
      const jid = callbackJid(id, event);
      const built = await this.#services.build({ ...given, jid, callback_of: { batch: id, event } })
        .catch((error) => {
          throw error instanceof InvalidPayload ? error.within(event) : error;
        });
      if (built === undefined) throw new BatchError(`Cannot open a batch: middleware stopped its ${event} callback`);
      callbacks[event] = {
        jid,
        class: typeof given.class === "string" ? given.class : given.class.class,
        queue: built.queue,
        ...(built.group !== undefined && { group: built.group }),
        payload: options.parent === undefined ? built.payload : setFields(built.payload, {
          batch: JSON.stringify(options.parent),
          [COUNTED_FIELD]: `"pending"`,
        }),
      };
    }
    return callbacks;
  }
}

/** @throws {InvalidPayload} if it can't be an ID */
export function checkId(id: string, kind = "batch"): string {
  if (typeof id !== "string") throw new InvalidPayload("id", id, `the ID of a ${kind}`);
  return id;
}

function notFound(kind: string, id: string, verb: string): BatchError {
  return new BatchError(`Cannot ${verb} ${kind} "${id}": it doesn't exist, or its retention has expired`);
}

/** Returns whether nothing more happens by itself. */
function hasEnded({ state, pending }: BatchStatus): boolean {
  return pending === 0 || state === "stuck";
}

/** Returns the jid of a callback. It begins with the time, as every jid does. One batch and event always get the same jid, so a second push is detected. */
function callbackJid(id: string, event: BatchEvent): string {
  return `${id}-${event}`;
}
