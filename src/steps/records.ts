/**
 * Reads and writes the step records of one job.
 *
 *  1. The records are read once, when the first step begins. A job that never had a step isn't read.
 *  2. A write needs the job's lease. Without the lease nothing is written, and the job aborts.
 *  3. A step ends when its result is stored: code after it must not act on a value that a crash would change. A quick step
 *     without a result is stored in the next turn of the event loop, and before the next step or wait. A job that ends
 *     successfully before writes nothing, because its end would delete the steps.
 *  4. The outcome of the attempt says whether the job has steps. Nothing is written after it is decided: the step would stay
 *     in the store after the end of the job, or would be unknown to its next attempt.
 *  5. While the store is unreachable, a call is repeated until the store replies or the job aborts. Failing instead would
 *     run a step again whose function has already ended.
 *
 * @module
 */
import { LeaseLost } from "../job/errors.ts";
import { parseLossless } from "../job/json.ts";
import { keptOfKnown, keptSteps } from "../job/kept_steps.ts";
import { MAX_STEPS, MAX_STEPS_CHARACTERS, mayHaveSteps, readStep, type Step, type StepKind } from "../job/step.ts";
import { StoreError } from "../store/port/errors.ts";
import type { NewWait } from "../store/port/steps.ts";
import { StepError } from "./errors.ts";
import { readHistory } from "./history.ts";
import type { LeaseSteps, StepJob, StepServices } from "./services.ts";

/** The pause before a call to an unreachable store is repeated, with a jitter of 50 %. */
const RETRY_MS = 500;

/** A step of at most this time is quick: no worker was frozen in it for long enough to lose its lease. */
const QUICK_MS = 100;

/** The fields of a record, in addition to its state, its kind and the time of the write. Times are epoch milliseconds. */
export interface RecordFields {
  readonly since: number;
  readonly [field: string]: unknown;
}

/** A step that is known, and the length of its record. */
interface KnownStep {
  readonly step: Step;
  readonly characters: number;
}

export class StepRecords {
  readonly #job: StepJob;
  readonly #services: Pick<StepServices, "steps" | "clock" | "outage">;
  /** The steps by name; undefined before they are read. */
  #steps: Map<string, KnownStep> | undefined;
  /** Whether the store has no other steps: this attempt is the first with steps, and only this object writes them. */
  #areAllKnown = false;
  #loading: Promise<void> | undefined;
  #count = 0;
  /** The characters of all records, which {@linkcode MAX_STEPS_CHARACTERS} limits. */
  #characters = 0;
  /** When the last of the known steps began. */
  #lastSince = 0;
  #hasWritten = false;
  /** The records of ended steps that are not stored yet, by name. */
  readonly #unstored = new Map<string, string>();
  #storing: Promise<unknown> | undefined;
  #isClosed = false;

  constructor(job: StepJob, services: Pick<StepServices, "steps" | "clock" | "outage">) {
    this.#job = job;
    this.#services = services;
  }

  /** Returns the steps for the record of the ended job. Call it before {@linkcode close}, which forgets unstored steps. */
  async history(): Promise<string | undefined> {
    // A read would cost as much as a step.
    if (this.#areAllKnown) return keptOfKnown(this.#steps!.values());
    const unstored = new Map(this.#unstored);
    const isStored = this.#hasWritten || mayHaveSteps(this.#job.job.payload);
    return isStored ? await readHistory(this.#services, unstored) : keptSteps(unstored);
  }

  /** Whether this attempt has written a record, or is about to. */
  get hasWritten(): boolean {
    return this.#hasWritten;
  }

  /** The store with repeated calls and lease checks, for the runner of this job in an isolated process. */
  get relay(): LeaseSteps {
    const { steps } = this.#services;
    const checked = async <Reply>(call: () => Promise<Reply | undefined>) => {
      this.#noteWrite();
      this.#areAllKnown = false;
      const reply = await this.#untilReply(call);
      if (reply === undefined) this.#job.abort(new LeaseLost());
      return reply;
    };
    return {
      read: () => this.#untilReply(() => steps.read()),
      remember: (step) => checked(() => steps.remember(step)),
      wait: (wait) => checked(() => steps.wait(wait)),
    };
  }

  /**
   * Returns the time at which a step begins, in epoch milliseconds: later than those of all known steps, if need be by
   * microseconds. Redis keeps no order of the steps, and the clocks of workers and stores differ.
   */
  begin(): number {
    const now = this.#now();
    this.#lastSince = now > this.#lastSince ? now : Math.round(this.#lastSince * 1_000 + 1) / 1_000;
    return this.#lastSince;
  }

  #now(): number {
    return Math.round(this.#services.clock.now());
  }

  /** Reads the stored steps, once. Returns undefined if they are known: nothing needs to wait then. */
  load(): Promise<void> | undefined {
    if (this.#steps !== undefined) return undefined;
    const { jid, job } = this.#job;
    if (jid === "" || mayHaveSteps(job.payload)) return this.#loading ??= this.#read();
    this.#steps = new Map();
    this.#areAllKnown = !this.#hasWritten;
    return undefined;
  }

  /** Returns a step. Call {@linkcode load} before. */
  get(name: string): Step | undefined {
    return this.#steps!.get(name)?.step;
  }

  /** Throws if a new step would exceed {@linkcode MAX_STEPS}. */
  checkCount(name: string, present: Step | undefined): void {
    if (present === undefined && this.#count >= MAX_STEPS) {
      throw new StepError(
        `Step "${name}" is the job's step number ${this.#count + 1}; at most ${MAX_STEPS}: use each() for many items`,
      );
    }
  }

  /**
   * Writes a step that has not ended for good.
   *
   * @param value JSON text: the cursor of an iteration; empty for none
   */
  async write(
    name: string,
    kind: StepKind,
    state: "failed" | "running",
    fields: RecordFields,
    value = "",
  ): Promise<void> {
    await this.#remember(name, this.#add(name, kind, state, fields, value));
  }

  /**
   * Writes a step that has ended.
   *
   * @param value JSON text: the result of a step, the cursor of an iteration; empty for none
   * @param tookMs the time since it began
   * @returns the step as later attempts read it
   */
  end(name: string, kind: StepKind, fields: RecordFields, value: string, tookMs: number): Step | Promise<Step> {
    const record = this.#add(name, kind, "succeeded", fields, value);
    this.#unstored.set(name, record);
    if (value !== "" || tookMs > QUICK_MS) return this.store().then(() => this.get(name)!);
    // A failure is that of the next call.
    void this.#services.clock.turn().then(() => this.store()).catch(() => {});
    return this.get(name)!;
  }

  /** Whether every ended step is stored. */
  get areStored(): boolean {
    return this.#unstored.size === 0;
  }

  /**
   * Stores the ended steps.
   *
   * @throws {LeaseLost} if the worker has lost the lease
   */
  store(): Promise<void> {
    if (this.areStored) return Promise.resolve();
    return (this.#storing ??= this.#storeAll()).then(() => this.areStored ? undefined : this.store());
  }

  /** Forgets the ended steps that are not stored, and rejects further writes: the outcome of the attempt is decided. */
  close(): void {
    this.#isClosed = true;
    this.#unstored.clear();
  }

  /**
   * Begins a wait, or continues one.
   *
   * @returns the step, and the milliseconds until its wait ends
   */
  async wait(wait: NewWait, present: Step | undefined): Promise<{ readonly step: Step; readonly leftMs: number }> {
    this.checkCount(wait.name, present);
    await this.store();
    this.#noteWrite();
    // Its end is written by the store.
    this.#areAllKnown = false;
    const after = this.#lastSince;
    const { record, leftMs } = this.#leased(
      await this.#untilReply(() => this.#services.steps.wait({ ...wait, after })),
    );
    if (present === undefined) this.#count++;
    const step = readStep(wait.name, record);
    this.#lastSince = Math.max(this.#lastSince, step.since);
    return { step, leftMs };
  }

  async #read(): Promise<void> {
    if (this.#job.jid === "") throw new StepError("This job has no jid, and its steps could not be found again");
    const stored = await this.#untilReply(() => this.#services.steps.read());
    this.#count = stored.length;
    this.#steps = new Map();
    for (const { name, record } of stored) this.#know(readStep(name, record), record.length);
  }

  /** Adds a step to the known ones, in place of an older record of it. */
  #know(step: Step, characters: number): void {
    this.#characters += characters - (this.#steps!.get(step.name)?.characters ?? 0);
    this.#steps!.set(step.name, { step, characters });
    this.#lastSince = Math.max(this.#lastSince, step.since);
  }

  /** Adds a record to those of this attempt. Returns its JSON text. */
  #add(
    name: string,
    kind: StepKind,
    state: "succeeded" | "failed" | "running",
    fields: RecordFields,
    value: string,
  ): string {
    // The members in the order in which the store reads them.
    const about = Object.assign({
      state,
      since: fields.since,
      ended: Math.max(this.#now(), Math.ceil(fields.since)),
      kind,
    }, fields);
    const members = JSON.stringify(about);
    const label = kind === "each" ? "cursor" : "value";
    // Spliced in unparsed, so that large numbers keep their digits.
    const record = value === "" ? members : `${members.slice(0, -1)},"${label}":${value}}`;
    const known = this.#steps!.get(name);
    if (this.#characters + record.length - (known?.characters ?? 0) > MAX_STEPS_CHARACTERS) {
      throw new StepError(
        `The steps of this job have more than ${MAX_STEPS_CHARACTERS} characters with step "${name}"; keep large values elsewhere, and return where`,
      );
    }
    if (known === undefined) this.#count++;
    // The value as later attempts read it.
    const step: Step = { name, ...about, ...(value !== "" && { [label]: parseLossless(value) }) };
    this.#know(step, record.length);
    return record;
  }

  #storeAll(): Promise<unknown> {
    const writes: Promise<void>[] = [];
    for (const [name, record] of this.#unstored) writes.push(this.#remember(name, record));
    const stored = writes.length === 1 ? writes[0]! : Promise.all(writes);
    const end = () => this.#storing = undefined;
    stored.then(end, end);
    return stored;
  }

  async #remember(name: string, record: string): Promise<void> {
    this.#noteWrite();
    const stored = this.#leased(await this.#untilReply(() => this.#services.steps.remember({ name, record })));
    // A result that is stored already never changes.
    if (stored !== record) this.#know(readStep(name, stored), stored.length);
    this.#unstored.delete(name);
  }

  /** Notes that the job has steps. Throws if it is too late for that. */
  #noteWrite(): void {
    if (this.#isClosed) throw new StepError("This attempt has ended, and its steps are not stored");
    this.#hasWritten = true;
  }

  /** Returns the reply to a write. Aborts the job if the worker has lost the lease. */
  #leased<Reply>(reply: Reply | undefined): Reply {
    if (reply === undefined) {
      const error = new LeaseLost();
      this.#job.abort(error);
      throw error;
    }
    return reply;
  }

  /** Calls the store, and repeats the call until the store replies or the job aborts. */
  #untilReply<Reply>(call: () => Promise<Reply>): Promise<Reply> {
    return call().catch((error) => this.#repeat(call, error));
  }

  async #repeat<Reply>(call: () => Promise<Reply>, failure: unknown): Promise<Reply> {
    if (!isTransient(failure)) throw failure;
    const { clock, outage } = this.#services;
    outage?.begin(failure);
    let hasReplied = false;
    try {
      for (;;) {
        await clock.sleep(RETRY_MS * (0.5 + Math.random()), this.#job.signal);
        if (this.#job.abortedBy !== undefined) throw this.#job.abortedBy;
        try {
          const reply = await call();
          hasReplied = true;
          return reply;
        } catch (error) {
          if (!isTransient(error)) throw error;
        }
      }
    } finally {
      outage?.end(hasReplied);
    }
  }
}

function isTransient(error: unknown): error is StoreError {
  return error instanceof StoreError && error.transient;
}
