/**
 * Batches, to programs: open one, add to it from any iterable without a list in memory, close it, look at it, wait for it.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import { ADDED_BY_FIELD, BATCH_EVENTS, type BatchEvent, COUNTED_FIELD } from "../job/batch.ts";
import type { JobClass, JsonArgs } from "../job/definition.ts";
import { InvalidPayload } from "../job/errors.ts";
import { JidMaker } from "../job/jid.ts";
import type { JobOptions } from "../job/payload.ts";
import { setFields } from "../job/raw.ts";
import { readSpan } from "../job/time.ts";
import type {
  Batch as StoredBatch,
  BatchCallback,
  BatchMember,
  BatchPage,
  BatchRefusal,
  BatchStore,
  NewBatch,
} from "../store/port/batches.ts";
import type { NewJob } from "../store/port/jobs.ts";
import type { PushResult } from "./bulk.ts";
import type { JobInput } from "./client.ts";

export type { BatchPage, BatchState } from "../store/port/batches.ts";

/** A batch as the store counts it. */
export type BatchStatus = StoredBatch;

/** Jobs of an open batch in memory, before `add` waits until they are stored. */
const MAX_BUFFERED = 1_000;
const DEFAULT_CLOSE_WITHIN = "1d";
const DEFAULT_KEEP = "7d";
/** How often `wait` looks: at first, and at most. */
const MIN_POLL_MS = 50;
const MAX_POLL_MS = 1_000;

/** Options of a batch. A callback is a job; it is pushed once. */
export interface BatchOptions {
  /** Shown with the batch. */
  readonly name?: string;
  /** Words shown with the batch. */
  readonly tags?: readonly string[];
  /** The batch is closed and every member has succeeded, perhaps after retries of the dead by hand. */
  readonly success?: JobInput;
  /** The batch is closed and every member has ended or is dead, for the first time. */
  readonly complete?: JobInput;
  /** The first member has failed for good: it is dead, or was discarded. */
  readonly death?: JobInput;
  /** Nobody closed the batch in time. Then `complete` and `success` are not pushed. */
  readonly abandoned?: JobInput;
  /** How long after the last addition an open batch counts as abandoned: seconds, or a duration. Default 1d. */
  readonly closeWithin?: number | string;
  /** How long the batch is kept after its end: seconds, or a duration. Default 7d. */
  readonly keepFor?: number | string;
  /** The ID of a batch that counts this one as a member, and waits for its callbacks. */
  readonly parent?: string;
}

/** A batch that accepts no jobs, or doesn't exist. */
export class BatchError extends Error {
  /** `BatchError`. */
  override readonly name = "BatchError";
}

/** Adds a job to a batch. */
export interface AddToBatch {
  /**
   * Adds a job of a class that `defineJob` returned. Resolves once there is room in memory for more; the job is stored
   * shortly after. If storing fails, the next call and the end of the batch reject.
   */
  // deno-lint-ignore no-explicit-any -- the definition has the types of the arguments
  <Args extends readonly any[]>(
    definition: JobClass<Args>,
    args: NoInfer<JsonArgs<Args>>,
    options?: JobOptions,
  ): Promise<void>;
  /** Adds a job of a class by its name. */
  (className: string, args: readonly unknown[], options?: JobOptions): Promise<void>;
  /** Adds a job. */
  (job: JobInput): Promise<void>;
}

/** What batches require of a client. */
export interface BatchServices {
  /** Undefined in an isolated process. */
  readonly store: BatchStore | undefined;
  /** For the times of a batch. */
  readonly clock: Clock;
  /** Stores jobs through middleware. */
  readonly pushMany: (jobs: Iterable<JobInput>) => AsyncIterable<PushResult>;
  /** Builds a job without storing it. */
  readonly build: (job: JobInput) => Promise<NewJob | undefined>;
}

/** An open batch. Closing it twice is an error. */
export class Batch {
  /** Its ID: put it into the payloads of members, as `batch`. */
  readonly id: string;
  readonly #services: BatchServices;
  #buffered: JobInput[] = [];
  #flushing: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;
  #closed = false;
  #added = 0;

  /** @internal */
  constructor(id: string, services: BatchServices) {
    this.id = id;
    this.#services = services;
  }

  /** How many jobs this handle has stored. */
  get added(): number {
    return this.#added;
  }

  /** Adds a job: see {@linkcode AddToBatch}. */
  readonly add: AddToBatch = async (
    // deno-lint-ignore no-explicit-any -- a class with any arguments
    what: JobInput | string | JobClass<any>,
    args?: readonly unknown[],
    options?: JobOptions,
  ): Promise<void> => {
    if (this.#closed) throw new BatchError(`Cannot add to batch "${this.id}": it is closed; open another one`);
    this.#throwFailure();
    const job = typeof what === "object" ? what : { ...options, class: what, args: args as readonly unknown[] };
    this.#buffered.push({ ...job, batch: this.id });
    this.#flushing ??= this.#flush();
    while (this.#buffered.length >= MAX_BUFFERED && this.#failure === undefined) await this.#flushing;
    this.#throwFailure();
  };

  /** Resolves when all that was added is stored. */
  async flush(): Promise<void> {
    while (this.#flushing !== undefined) await this.#flushing;
    this.#throwFailure();
  }

  /**
   * Closes the batch: nothing more comes from outside, and its callbacks follow when its members have ended.
   *
   * @throws {BatchError} if it is closed already
   */
  async close(): Promise<void> {
    if (this.#closed) throw new BatchError(`Cannot close batch "${this.id}": it is closed already`);
    await this.flush();
    this.#closed = true;
    const result = await this.#services.store!.close(this.id, "closed");
    if (result === undefined) throw refused(this.id, "missing", "close");
    // A close whose answer was lost is sent again: it finds its own work.
    if (!result.done && result.closedAs !== "closed") throw refused(this.id, result.closedAs, "close");
  }

  /** Gives up filling the batch: `abandoned` is pushed, members that are stored run. */
  async abandon(): Promise<void> {
    this.#closed = true;
    this.#buffered = [];
    await this.#flushing;
    await this.#services.store!.close(this.id, "abandoned");
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** Stores what is buffered, and what comes meanwhile. Never rejects: see `#failure`. */
  async #flush(): Promise<void> {
    try {
      // Additions of the same turn go together.
      await this.#services.clock.turn();
      while (this.#buffered.length > 0) {
        const jobs = this.#buffered;
        this.#buffered = [];
        for await (const { jid, refused } of this.#services.pushMany(jobs)) {
          if (jid === undefined) throw new BatchError(`Cannot add to batch "${this.id}": ${refused}`);
          this.#added++;
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

/** Opens batches, and looks at them. */
export class Batches {
  readonly #services: BatchServices;
  readonly #ids = new JidMaker();

  /** @internal */
  constructor(services: BatchServices) {
    this.#services = services;
  }

  /**
   * Opens a batch. Close it when all members are added.
   *
   * @param by the member of the parent that opens it: then the parent may be closed
   * @throws {InvalidPayload} if an option or a callback is invalid; nothing is stored then
   * @throws {BatchError} if its parent accepts no members
   */
  async open(options: BatchOptions, by?: string): Promise<Batch> {
    checkOptions(options);
    const id = this.#ids.next(this.#services.clock.now());
    const { name, tags, parent, closeWithin = DEFAULT_CLOSE_WITHIN, keepFor = DEFAULT_KEEP } = options;
    const member: BatchMember | undefined = parent === undefined
      ? undefined
      : { id: parent, ...(by !== undefined && { by }) };
    const batch: NewBatch = {
      id,
      ...(name !== undefined && { name }),
      ...(tags !== undefined && { tags }),
      ...(member !== undefined && { parent: member }),
      callbacks: await this.#callbacks(id, options),
      closeWithinMs: readSpan("closeWithin", closeWithin) * 1_000,
      keepMs: readSpan("keepFor", keepFor) * 1_000,
    };
    const refusal = await this.#store().create(batch);
    if (refusal !== undefined) throw refused(parent!, refusal, "open a batch in");
    return new Batch(id, this.#services);
  }

  /** Returns a batch; undefined if there is none, or its retention is over. */
  get(id: string): Promise<BatchStatus | undefined> {
    return this.#store().get(id);
  }

  /** Returns a page of the batches, latest first; default 25. */
  list(request: { readonly cursor?: string; readonly limit?: number } = {}): Promise<BatchPage> {
    return this.#store().page(request);
  }

  /** Closes a batch that another program opened. */
  close(id: string): Promise<void> {
    return new Batch(id, this.#services).close();
  }

  /**
   * Waits until each member of a closed batch has ended or is dead.
   *
   * @returns how the batch is then; undefined if `signal` aborts first, or the batch doesn't exist
   */
  async wait(id: string, { signal }: { readonly signal?: AbortSignal } = {}): Promise<BatchStatus | undefined> {
    for (let pauseMs = MIN_POLL_MS; !signal?.aborted; pauseMs = Math.min(2 * pauseMs, MAX_POLL_MS)) {
      const batch = await this.get(id);
      if (batch === undefined || (batch.closedAt !== undefined && batch.pending === 0)) return batch;
      await this.#services.clock.sleep(pauseMs, signal);
    }
    return undefined;
  }

  #store(): BatchStore {
    const { store } = this.#services;
    if (store === undefined) {
      throw new BatchError("Batches cannot be opened or read here: an isolated job has no store");
    }
    return store;
  }

  /** The callbacks, each built as a push builds it, with a jid that follows from the ID of the batch. */
  async #callbacks(id: string, options: BatchOptions): Promise<NewBatch["callbacks"]> {
    const callbacks: Partial<Record<BatchEvent, BatchCallback>> = {};
    for (const event of BATCH_EVENTS) {
      const given = options[event];
      if (given === undefined) continue;
      for (const field of ["in", "at", "unique_for", "batch", "jid"] as const) {
        if (given[field] !== undefined) {
          throw new InvalidPayload(`${event}.${field}`, given[field], "no such option on a callback");
        }
      }
      const jid = callbackJid(id, event);
      const built = await this.#services.build({ ...given, jid, callback_of: { batch: id, event } });
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

/** The batch of a running member. */
export class MemberBatch {
  /** Its ID. */
  readonly id: string;
  readonly #jid: string;
  readonly #push: (job: JobInput) => Promise<string | undefined>;
  readonly #batches: Batches;

  /** @internal */
  constructor(
    id: string,
    jid: string,
    { push, batches }: { readonly push: (job: JobInput) => Promise<string | undefined>; readonly batches: Batches },
  ) {
    this.id = id;
    this.#jid = jid;
    this.#push = push;
    this.#batches = batches;
  }

  /**
   * Adds a job, also if the batch is closed: it waits for it, because the adding member hasn't ended.
   *
   * @returns its jid; undefined if middleware stopped it, or another job holds its unique lock
   * @throws {BatchError} if the batch was cancelled
   */
  // deno-lint-ignore no-explicit-any -- the definition has the types of the arguments
  add<Args extends readonly any[]>(
    what: JobClass<Args> | string,
    args: NoInfer<JsonArgs<Args>>,
    options: JobOptions = {},
  ): Promise<string | undefined> {
    return this.#push({
      ...options,
      class: what,
      args: args as readonly unknown[],
      batch: this.id,
      [ADDED_BY_FIELD]: this.#jid,
    });
  }

  /** Opens a batch that this one counts as a member. */
  open(options: Omit<BatchOptions, "parent"> = {}): Promise<Batch> {
    return this.#batches.open({ ...options, parent: this.id }, this.#jid);
  }

  /** Returns how the batch is. */
  get(): Promise<BatchStatus | undefined> {
    return this.#batches.get(this.id);
  }
}

/** The jid of a callback. It begins with the time, as every jid, and follows from the ID: a second push would be seen. */
function callbackJid(id: string, event: BatchEvent): string {
  return `${id}-${event}`;
}

/** Returns the error for a batch that refuses. */
export function refused(id: string, why: BatchRefusal, verb = "add to"): BatchError {
  return new BatchError(`Cannot ${verb} batch "${id}": ${REASONS[why]}`);
}

/** Why a batch refuses a job, as the result of a push has it. */
export function refusalText(id: string, why: BatchRefusal): string {
  return `batch "${id}" ${REASONS[why].replace(/^it /, "")}`;
}

const REASONS: Readonly<Record<BatchRefusal, string>> = {
  missing: "it doesn't exist, or its retention is over",
  closed: "it is closed; only its running members add to it",
  cancelled: "it was cancelled",
  abandoned: "it was abandoned: it had not been closed in time",
};

const OPTIONS: ReadonlySet<string> = new Set(["name", "tags", "closeWithin", "keepFor", "parent", ...BATCH_EVENTS]);

function checkOptions(options: BatchOptions): void {
  for (const name of Object.keys(options)) {
    if (!OPTIONS.has(name)) {
      throw new InvalidPayload(
        name,
        options[name as keyof BatchOptions],
        `no such option; a batch has ${[...OPTIONS].join(", ")}`,
      );
    }
  }
  const { name, tags } = options;
  if (name !== undefined && typeof name !== "string") throw new InvalidPayload("name", name, "a text");
  if (tags !== undefined && !(Array.isArray(tags) && tags.every((tag) => typeof tag === "string" && tag !== ""))) {
    throw new InvalidPayload("tags", tags, "a list of words");
  }
}
