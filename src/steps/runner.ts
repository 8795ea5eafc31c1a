/**
 * Runs the durable steps of one attempt. A step that is done returns its stored value. Any other step runs, and its
 * result is stored when it ends.
 *
 * If the process dies after a step's function ended and before its record is stored, that one step runs again.
 * `records.ts` reads and writes the records; `active_steps.ts` decides when the attempt ends.
 *
 * @module
 */
import { readableError } from "../job/describe_error.ts";
import { LeaseLost } from "../job/errors.ts";
import { errorOf, type Step, type StepKind } from "../job/step.ts";
import { verdictOf } from "../job/verdict.ts";
import type { NewWait } from "../store/port/steps.ts";
import { ActiveSteps, Pause } from "./active_steps.ts";
import { buildChild, callStep, type ChildClass, resultText } from "./call.ts";
import { ChildFailed, nameStep, StepError, StepFailed } from "./errors.ts";
import {
  backoffMs,
  checkChildOptions,
  checkFunction,
  checkOptions,
  type EachOptions,
  exampleText,
  retriesOf,
  signalKey,
  spanMs,
  stepName,
  type StepOptions,
  type StepRun,
  type WaitOptions,
} from "./options.ts";
import { StepRecords } from "./records.ts";
import type { LeaseSteps, StepJob, StepServices } from "./services.ts";

/** An iteration stores its cursor at most this often. */
const CURSOR_INTERVAL_MS = 1_000;
/** The step of a child that hasn't ended after this time fails. */
const DEFAULT_CHILD_TIMEOUT = "30d";

export class StepRunner {
  readonly #job: StepJob;
  readonly #services: StepServices;
  readonly #records: StepRecords;
  readonly #active: ActiveSteps;

  constructor(job: StepJob, services: StepServices) {
    this.#job = job;
    this.#services = services;
    this.#records = new StepRecords(job, services);
    this.#active = new ActiveSteps(job, services.clock);
  }

  /** The error that ends an attempt whose job has neither succeeded nor failed: it sleeps, or its worker stops. */
  get ending(): Error | undefined {
    return this.#active.ending;
  }

  get current(): string | undefined {
    return this.#active.current;
  }

  /** Throws {@linkcode ending} if it is set: the handler may have caught it. */
  throwIfEnding(): void {
    if (this.ending !== undefined) throw this.ending;
  }

  /** The store, for the runner of this job in an isolated process. */
  get relay(): LeaseSteps {
    return this.#records.relay;
  }

  /** Whether this attempt has written a step. */
  get hasWritten(): boolean {
    return this.#records.hasWritten;
  }

  store(): Promise<void> {
    return this.#records.store();
  }

  finish(): Promise<void> | undefined {
    return this.#active.finish();
  }

  history(): Promise<string | undefined> {
    return this.#records.history();
  }

  close(): void {
    this.#records.close();
  }

  // deno-lint-ignore require-await -- invalid options reject; awaiting would keep this call in memory, one for each running job
  async step<Value>(
    name: string,
    run: (step: StepRun) => Value,
    options: StepOptions = {},
  ): Promise<Awaited<Value>> {
    const full = stepName(name, options.each);
    checkFunction(full, "function to run", run);
    checkOptions("step", full, options);
    const retries = retriesOf(options);
    const timeoutMs = options.timeout === undefined ? undefined : spanMs("timeout", options.timeout);
    // An invalid backoff fails before the function runs, not after its first failure.
    if (options.backoff !== undefined) backoffMs(options, 1);
    return this.#use(full, "step", async (present): Promise<Awaited<Value> | Pause> => {
      if (present?.state === "succeeded") return present.value as Awaited<Value>;
      const failures = present?.attempts ?? 0;
      if (present?.final) throw new StepFailed(full, present.error!, failures);
      this.#checkRun(full, present);
      if (!this.#records.areStored) await this.#records.store();
      const since = this.#records.begin();
      const begun = this.#services.clock.monotonic();
      const attempt = failures + 1;
      let value: unknown;
      try {
        this.#services.onRun?.(full);
        const call = { name: full, attempt, timeoutMs };
        const { clock, around } = this.#services;
        const perform = () => callStep(this.#job, clock, call, run);
        value = await this.#active.inside(full, () => around ? around(call, async () => await perform()) : perform());
      } catch (thrown) {
        const error = readableError(thrown);
        // An error that ends the job isn't a failure of the step.
        if (this.#job.abortedBy !== undefined || (verdictOf(error) !== undefined)) throw error;
        const isFinal = retries !== undefined && attempt > retries;
        const shown = errorOf(error);
        const end = { since, attempts: attempt, error: shown, ...(isFinal && { final: true }) };
        await this.#records.write(full, "step", "failed", end);
        if (isFinal) throw new StepFailed(full, shown, attempt, { cause: error });
        if (retries === undefined) {
          nameStep(error, full);
          throw error;
        }
        const which = `attempt ${attempt} of ${retries + 1}: ${shown.class}: ${shown.message}`;
        return this.#active.pause(backoffMs(options, attempt), `step "${full}" failed, ${which}`);
      }
      const tookMs = this.#services.clock.monotonic() - begun;
      const ended = this.#records.end(full, "step", { since, attempts: attempt }, resultText(full, value), tookMs);
      return (await ended).value as Awaited<Value>;
    });
  }

  async sleep(name: string, duration: number | string): Promise<void> {
    const full = stepName(name);
    const forMs = spanMs("duration", duration);
    await this.#use(full, "sleep", async (present) => {
      if (present?.state === "succeeded") return;
      return await this.#wait({ name: full, about: "", forMs }, present);
    });
  }

  async waitFor(name: string, options: WaitOptions): Promise<unknown> {
    const full = stepName(name);
    const key = signalKey(options?.key);
    checkOptions("waitFor", full, options);
    const forMs = spanMs("timeout", options.timeout);
    const example = exampleText(full, options.example);
    return await this.#use(full, "wait", async (present) => {
      // The example is a text: an object's members could be taken for those of the record.
      const about = `"kind":"wait","key":${JSON.stringify(key)}` +
        (example === undefined ? "" : `,"example":${JSON.stringify(example)}`);
      const ended = present?.state === "succeeded"
        ? present
        : await this.#wait({ name: full, about, forMs, key }, present);
      return ended instanceof Pause ? ended : ended.value;
    });
  }

  async run(
    name: string,
    child: ChildClass,
    args: readonly unknown[],
    { giveUpAfter = DEFAULT_CHILD_TIMEOUT, ...options }: Readonly<Record<string, unknown>> = {},
  ): Promise<unknown> {
    const full = stepName(name);
    const forMs = spanMs("giveUpAfter", giveUpAfter);
    checkChildOptions(full, options);
    const about = (jid: string) => `"kind":"child","child":${JSON.stringify(jid)}`;
    return await this.#use(full, "child", async (present) => {
      let ended: Step | Pause | undefined = present;
      if (present === undefined) {
        const parent = { jid: this.#job.jid, step: full };
        const job = await buildChild(this.#services.build, parent, child, { ...options, args });
        ended = await this.#wait({ name: full, about: about(job.jid), forMs, child: job }, present);
      } else if (present.state === "waiting") {
        ended = await this.#wait({ name: full, about: about(present.child!), forMs }, present);
      }
      if (ended instanceof Pause) return ended;
      const { state, timedOut, error, value } = ended!;
      if (timedOut) {
        throw new ChildFailed(full, ended!.child!, { class: "Timeout", message: "It has not ended in time" });
      }
      if (state === "failed") throw new ChildFailed(full, ended!.child!, error!);
      return value;
    });
  }

  async each<Item>(
    name: string,
    source: (cursor: unknown) => Iterable<Item> | AsyncIterable<Item> | PromiseLike<Iterable<Item>>,
    run: (item: Item) => unknown,
    options: EachOptions<Item> = {},
  ): Promise<number> {
    const full = stepName(name);
    checkFunction(full, "source of items", source);
    checkFunction(full, "function for each item", run);
    checkOptions("each", full, options);
    return await this.#use(full, "each", async (present) => {
      if (present?.state === "succeeded") return present.count ?? 0;
      this.#checkRun(full, present);
      await this.#records.store();
      const since = present?.since ?? this.#records.begin();
      let { count = 0, cursor } = present ?? {};
      let storedCount = count;
      const begun = this.#services.clock.monotonic();
      let storedAt = begun;
      const store = async () => {
        await this.#records.write(full, "each", "running", { since, count }, resultText(full, cursor, "cursor"));
        storedCount = count;
        storedAt = this.#services.clock.monotonic();
      };
      try {
        const iterate = async () => {
          for await (const item of await source(cursor)) {
            await run(item);
            count++;
            cursor = options.cursor === undefined ? count : options.cursor(item);
            if (this.#job.isStopping) return this.#active.release();
            if (this.#job.abortedBy !== undefined) throw this.#job.abortedBy;
            this.#active.throwIfFinished(full);
            if (this.#services.clock.monotonic() - storedAt >= CURSOR_INTERVAL_MS) await store();
          }
        };
        await this.#active.inside(full, iterate);
      } catch (thrown) {
        const error = readableError(thrown);
        // Items that are done stay done, however the attempt ends.
        if (count > storedCount && !(error instanceof LeaseLost)) await store();
        nameStep(error, full);
        throw error;
      }
      const tookMs = this.#services.clock.monotonic() - begun;
      await this.#records.end(full, "each", { since, count }, resultText(full, cursor, "cursor"), tookMs);
      return count;
    });
  }

  /**
   * Returns the cursor of an iteration that runs outside of this runner, in a program; undefined if none is stored. Such an
   * iteration has no end: a later attempt finds no items after the cursor.
   */
  async cursor(name: string): Promise<unknown> {
    const full = stepName(name);
    await this.#records.load();
    const present = this.#stored(full, "each");
    this.#checkRun(full, present);
    await this.#records.store();
    return present?.cursor;
  }

  /** Stores the cursor of such an iteration. Releases the job if the worker stops. */
  async storeCursor(name: string, cursor: unknown): Promise<void> {
    const full = stepName(name);
    await this.#records.load();
    const present = this.#stored(full, "each");
    this.#records.checkCount(full, present);
    const { since = this.#records.begin(), count = 0 } = present ?? {};
    const fields = { since, count: count + 1 };
    await this.#records.write(full, "each", "running", fields, resultText(full, cursor, "cursor"));
    if (this.#job.isStopping) this.#active.release();
  }

  /** Runs one use of a step with its stored record. A {@linkcode Pause} ends the attempt. */
  #use<Result>(
    name: string,
    kind: StepKind,
    run: (present: Step | undefined) => Promise<Result | Pause>,
  ): Promise<Result> {
    return this.#active.use(name, () => {
      const loading = this.#records.load();
      if (loading === undefined) return run(this.#stored(name, kind));
      return loading.then(() => run(this.#stored(name, kind)));
    });
  }

  #stored(name: string, kind: StepKind): Step | undefined {
    const present = this.#records.get(name);
    if (present === undefined || present.kind === kind) return present;
    throw new StepError(
      `Step "${name}" was stored as "${present.kind}" and is used as "${kind}" now; give it another name, or clear it: jobs steps clear ${this.#job.jid} "${name}"`,
    );
  }

  /** Checks that a step may run. Store the steps before it then, so that a crash in it repeats no other. */
  #checkRun(name: string, present: Step | undefined): void {
    if (this.#job.isStopping) this.#active.release();
    this.#records.checkCount(name, present);
  }

  /** Begins or continues a wait. Returns the step if the wait has ended. */
  async #wait(wait: NewWait, present: Step | undefined): Promise<Step | Pause> {
    const { step, leftMs } = await this.#records.wait(wait, present);
    if (step.state !== "waiting") return step;
    const doing = step.kind === "sleep"
      ? "sleeps"
      : step.kind === "wait"
      ? `waits for "${step.key}"`
      : "waits for its child";
    return this.#active.pause(leftMs, `step "${wait.name}" ${doing}`);
  }
}
