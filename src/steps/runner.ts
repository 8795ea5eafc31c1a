/**
 * Durable steps of one attempt: a step that is remembered returns its value; another one runs and is remembered.
 *
 *  1. The steps of a job are read once, when the first is used. A job that never had any isn't read at all.
 *  2. A step is written when it ends, under the job's lease. If the process dies between the end of its function and the
 *     write, that one step runs again.
 *  3. A job that sleeps or waits ends its attempt: no processor waits. Steps that run side by side end first.
 *  4. While the worker stops, no further step begins: the job returns to the front of its queue.
 *
 * @module
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Clock } from "../clock.ts";
import { LeaseLost, Timeout, verdictOf } from "../job/errors.ts";
import { stringifyLossless } from "../job/json.ts";
import {
  MAX_STEP_CHARACTERS,
  MAX_STEPS,
  MAX_STEPS_CHARACTERS,
  mayHaveSteps,
  readStep,
  type Step,
  type StepKind,
} from "../job/step.ts";
import { checkValue } from "../job/values.ts";
import { StoreError } from "../store/port/errors.ts";
import type { NewJob } from "../store/port/jobs.ts";
import type { NewWait, StoredStep, Wait } from "../store/port/steps.ts";
import { Asleep, ChildFailed, errorOf, nameStep, Released, StepError, StepFailed } from "./errors.ts";
import {
  backoffMs,
  type EachOptions,
  retriesOf,
  signalKey,
  spanMs,
  stepName,
  type StepOptions,
  type StepRun,
  type WaitOptions,
} from "./options.ts";

/** The store of steps, for one lease. Each resolves with undefined if the worker has lost the lease. */
export interface LeaseSteps {
  read(): Promise<StoredStep[]>;
  remember(step: StoredStep): Promise<string | undefined>;
  wait(wait: NewWait): Promise<Wait | undefined>;
}

/** The job whose steps these are. */
export interface StepJob {
  readonly jid: string;
  readonly job: { readonly payload: Readonly<Record<string, unknown>> };
  /** Aborts when the worker stops or goes quiet. */
  readonly stopping: AbortSignal;
  /** Aborts when the job is to end. */
  readonly signal: AbortSignal;
  /** Why it did. */
  readonly abortedBy: unknown;
  /** Aborts the signal. */
  abort(reason: unknown): void;
}

/** What a runner works with. */
export interface StepServices {
  readonly steps: LeaseSteps;
  readonly clock: Clock;
  /** Builds a child; undefined if middleware stopped it. */
  readonly build: (job: ChildRequest) => Promise<NewJob | undefined>;
  /** Called before the function of a step runs. */
  readonly onRun?: (name: string) => void;
}

/** A job to run as a step. */
export interface ChildRequest {
  readonly class: string;
  readonly args: readonly unknown[];
  readonly [option: string]: unknown;
}

/** Between two attempts to write while the store is unreachable, with jitter. */
const RETRY_MS = 500;
/** An iteration stores its cursor at most this often. */
const FLUSH_MS = 1_000;
/** A child that has not ended by then has failed. */
const DEFAULT_CHILD_TIMEOUT = "30d";

/** A use of a step that ends the attempt, unless other steps still run. */
class Pause {
  readonly wakeAt: number;
  readonly why: string;
  reject: (error: Error) => void = () => {};

  constructor(wakeAt: number, why: string) {
    this.wakeAt = wakeAt;
    this.why = why;
  }
}

/** Runs the steps of one attempt. */
export class StepRunner {
  readonly #job: StepJob;
  readonly #services: StepServices;
  /** The name of the step that the running code belongs to. */
  readonly #inside = new AsyncLocalStorage<string>();
  readonly #used = new Set<string>();
  #loading: Promise<Map<string, Step>> | undefined;
  #count = 0;
  #characters = 0;
  readonly #sizes = new Map<string, number>();
  /** Steps that run now. */
  #active = 0;
  readonly #pauses: Pause[] = [];
  #isChecking = false;
  #ending: Error | undefined;
  #hasWritten = false;

  constructor(job: StepJob, services: StepServices) {
    this.#job = job;
    this.#services = services;
  }

  /** Why the attempt ends although its job has neither succeeded nor failed: it sleeps, or its worker stops. */
  get ending(): Error | undefined {
    return this.#ending;
  }

  /** Throws {@linkcode ending} if there is one: a handler may have caught it. */
  throwIfEnding(): void {
    if (this.#ending !== undefined) throw this.#ending;
  }

  /** The store, for the runner of this job in an isolated process. */
  get relay(): LeaseSteps {
    const { steps } = this.#services;
    const checked = async <Answer>(call: () => Promise<Answer | undefined>) => {
      const answer = await this.#insist(call);
      if (answer === undefined) this.#job.abort(new LeaseLost());
      else this.#hasWritten = true;
      return answer;
    };
    return {
      read: () => this.#insist(() => steps.read()),
      remember: (step) => checked(() => steps.remember(step)),
      wait: (wait) => checked(() => steps.wait(wait)),
    };
  }

  /** Whether it wrote a step. */
  get hasWritten(): boolean {
    return this.#hasWritten;
  }

  /** See `JobContext.step`. */
  async step<Value>(
    name: string,
    run: (step: StepRun) => Value,
    options: StepOptions = {},
  ): Promise<Awaited<Value>> {
    const full = stepName(name, options.each);
    const retries = retriesOf(options);
    const timeoutMs = options.timeout === undefined ? undefined : spanMs("timeout", options.timeout);
    const pauseMs = (failures: number) => backoffMs(options, failures);
    pauseMs(1);
    return await this.#use(full, "step", async (present) => {
      if (present?.state === "done") return present.value as Awaited<Value>;
      const failures = present?.attempts ?? 0;
      if (present?.final) throw new StepFailed(full, present.error!, failures);
      this.#beforeRun(full, present);
      const since = this.#now();
      const attempt = failures + 1;
      let value: unknown;
      try {
        value = await this.#call(full, attempt, run, timeoutMs);
      } catch (error) {
        // What ends the job is no failure of the step.
        if (this.#job.abortedBy !== undefined || (verdictOf(error) !== undefined)) throw error;
        const isFinal = retries !== undefined && attempt > retries;
        const shown = errorOf(error);
        const end = { since, attempts: attempt, error: shown, ...(isFinal && { final: true }) };
        await this.#remember(full, this.#record("failed", "step", end));
        if (isFinal) throw new StepFailed(full, shown, attempt, { cause: error });
        if (retries === undefined) {
          nameStep(error, full);
          throw error;
        }
        return this.#pause(pauseMs(attempt), `step "${full}" failed, attempt ${attempt} of ${retries + 1}`);
      }
      const record = this.#record("done", "step", { since, attempts: attempt }, resultText(full, value));
      return readStep(full, await this.#remember(full, record)).value as Awaited<Value>;
    });
  }

  /** See `JobContext.sleep`. */
  async sleep(name: string, duration: number | string): Promise<void> {
    const full = stepName(name);
    const forMs = spanMs("duration", duration);
    await this.#use(full, "sleep", async (present) => {
      if (present?.state === "done") return;
      return await this.#wait({ name: full, about: `"kind":"sleep"`, forMs }, present);
    });
  }

  /** See `JobContext.waitFor`. */
  async waitFor(name: string, options: WaitOptions): Promise<unknown> {
    const full = stepName(name);
    const key = signalKey(options?.key);
    const forMs = spanMs("timeout", options.timeout);
    return await this.#use(full, "wait", async (present) => {
      const about = `"kind":"wait","key":${JSON.stringify(key)}`;
      const ended = present?.state === "done" ? present : await this.#wait({ name: full, about, forMs, key }, present);
      return ended instanceof Pause ? ended : ended.value;
    });
  }

  /** See `JobContext.run`. */
  async run(
    name: string,
    child: { readonly class: string; readonly options?: Readonly<Record<string, unknown>> } | string,
    args: readonly unknown[],
    { giveUpAfter = DEFAULT_CHILD_TIMEOUT, ...options }: Readonly<Record<string, unknown>> = {},
  ): Promise<unknown> {
    const full = stepName(name);
    const forMs = spanMs("giveUpAfter", giveUpAfter);
    return await this.#use(full, "child", async (present) => {
      let ended: Step | Pause | undefined = present;
      if (present === undefined) {
        const job = await this.#buildChild(full, child, { ...options, args });
        ended = await this.#wait(
          { name: full, about: `"kind":"child","child":${JSON.stringify(job.jid)}`, forMs, child: job },
          present,
        );
      } else if (present.state === "waiting") {
        const about = `"kind":"child","child":${JSON.stringify(present.child)}`;
        ended = await this.#wait({ name: full, about, forMs }, present);
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

  /** See `JobContext.each`. */
  async each<Item>(
    name: string,
    source: (cursor: unknown) => Iterable<Item> | AsyncIterable<Item> | PromiseLike<Iterable<Item>>,
    run: (item: Item) => unknown,
    options: EachOptions<Item> = {},
  ): Promise<number> {
    const full = stepName(name);
    return await this.#use(full, "each", async (present) => {
      if (present?.state === "done") return present.count ?? 0;
      this.#beforeRun(full, present);
      const since = present?.since ?? this.#now();
      let { count = 0, cursor } = present ?? {};
      let stored = count;
      let storedAt = this.#services.clock.monotonic();
      const flush = async (state: "running" | "done") => {
        const text = cursor === undefined ? "" : resultText(full, cursor, "cursor");
        await this.#remember(full, this.#record(state, "each", { since, count }, text));
        stored = count;
        storedAt = this.#services.clock.monotonic();
      };
      try {
        const iterate = async () => {
          for await (const item of await source(cursor)) {
            await run(item);
            count++;
            cursor = options.cursor === undefined ? count : options.cursor(item);
            if (this.#job.stopping.aborted) return this.#release();
            if (this.#job.abortedBy !== undefined) throw this.#job.abortedBy;
            if (this.#services.clock.monotonic() - storedAt >= FLUSH_MS) await flush("running");
          }
        };
        await this.#inside.run(full, iterate);
      } catch (error) {
        // What is done stays done, however the attempt ends.
        if (count > stored && !(error instanceof LeaseLost)) await flush("running");
        nameStep(error, full);
        throw error;
      }
      await flush("done");
      return count;
    });
  }

  /** Checks a use of a step, and runs it with what the store has of it. A {@linkcode Pause} ends the attempt. */
  async #use<Result>(
    name: string,
    kind: StepKind,
    run: (present: Step | undefined) => Promise<Result | Pause>,
  ): Promise<Result> {
    if (this.#ending !== undefined) throw this.#ending;
    if (this.#job.abortedBy !== undefined) throw this.#job.abortedBy;
    const outer = this.#inside.getStore();
    if (outer !== undefined) {
      throw new StepError(`Step "${name}" begins inside of step "${outer}"; a step cannot contain another`);
    }
    if (this.#used.has(name)) {
      throw new StepError(
        `Step name "${name}" is used twice in one run; in a loop, tell the steps apart with { each: id }`,
      );
    }
    this.#used.add(name);
    this.#active++;
    let result: Result | Pause;
    try {
      const present = (await this.#load()).get(name);
      if (present !== undefined && present.kind !== kind) {
        throw new StepError(
          `Step "${name}" was stored as "${present.kind}" and is used as "${kind}" now; give it another name, or clear it: jobs steps clear ${this.#job.jid} "${name}"`,
        );
      }
      result = await run(present);
    } finally {
      this.#active--;
      this.#check();
    }
    if (!(result instanceof Pause)) return result;
    const pause = result;
    return await new Promise<never>((_, reject) => {
      pause.reject = reject;
      this.#pauses.push(pause);
      this.#check();
    });
  }

  /** Ends the attempt once nothing runs any more, and nothing that has just ended continues with another step. */
  #check(): void {
    if (this.#pauses.length === 0 || this.#active > 0 || this.#isChecking) return;
    this.#isChecking = true;
    void this.#services.clock.turn().then(() => {
      this.#isChecking = false;
      if (this.#active > 0) return;
      const first = this.#pauses.reduce((one, other) => other.wakeAt < one.wakeAt ? other : one);
      const delayMs = Math.max(0, Math.round(first.wakeAt - this.#services.clock.monotonic()));
      this.#end(new Asleep(delayMs, `Asleep: ${first.why}`));
    });
  }

  #end(ending: Error): void {
    this.#ending ??= ending;
    for (const pause of this.#pauses.splice(0)) pause.reject(this.#ending);
  }

  #release(): never {
    this.#end(new Released());
    throw this.#ending!;
  }

  #beforeRun(name: string, present: Step | undefined): void {
    if (this.#job.stopping.aborted) this.#release();
    this.#admit(name, present);
  }

  #admit(name: string, present: Step | undefined): void {
    if (present === undefined && this.#count >= MAX_STEPS) {
      throw new StepError(
        `Step "${name}" is the job's step number ${this.#count + 1}; at most ${MAX_STEPS}: use each() for many items`,
      );
    }
  }

  #pause(ms: number, why: string): Pause {
    return new Pause(this.#services.clock.monotonic() + ms, why);
  }

  async #wait(wait: NewWait, present: Step | undefined): Promise<Step | Pause> {
    this.#admit(wait.name, present);
    const { record, leftMs } = this.#held(await this.#insist(() => this.#services.steps.wait(wait)));
    this.#count += present === undefined ? 1 : 0;
    const step = readStep(wait.name, record);
    if (step.state !== "waiting") return step;
    const what = step.kind === "sleep"
      ? "sleeps"
      : step.kind === "wait"
      ? `waits for "${step.key}"`
      : "waits for its child";
    return this.#pause(leftMs, `step "${wait.name}" ${what}`);
  }

  async #buildChild(
    name: string,
    child: { readonly class: string; readonly options?: Readonly<Record<string, unknown>> } | string,
    more: { readonly args: readonly unknown[] },
  ): Promise<NewJob> {
    const [className, said] = typeof child === "string" ? [child] : [child.class, child.options];
    const parent = { jid: this.#job.jid, step: name };
    const job = await this.#services.build({ ...said, ...more, class: className, parent });
    if (job === undefined) throw new StepError(`Job "${className}" of step "${name}" was stopped by push middleware`);
    if (job.batch !== undefined) {
      throw new StepError(
        `Job "${className}" of step "${name}" has batch; a child counts as part of its parent: unset it`,
      );
    }
    const key = job.unique !== undefined ? "unique_for" : job.once !== undefined ? "once" : undefined;
    if (key !== undefined) {
      throw new StepError(`Job "${className}" of step "${name}" has ${key}; a child is pushed once anyway: unset it`);
    }
    return job;
  }

  /** Calls a step's function; fails after the timeout, whether or not the function listens to its signal. */
  async #call(
    name: string,
    attempt: number,
    run: (step: StepRun) => unknown,
    timeoutMs: number | undefined,
  ): Promise<unknown> {
    this.#services.onRun?.(name);
    const job = this.#job;
    const idempotencyKey = `${job.jid}:${name}`;
    if (timeoutMs === undefined) {
      const step = {
        idempotencyKey,
        attempt,
        get signal() {
          return job.signal;
        },
      };
      return await this.#inside.run(name, () => run(step));
    }
    const timedOut = new AbortController();
    const ended = new AbortController();
    const error = new Timeout(timeoutMs);
    const expiry = this.#services.clock.sleep(timeoutMs, ended.signal).then(() => {
      if (ended.signal.aborted) return;
      timedOut.abort(error);
      throw error;
    });
    const step = { idempotencyKey, attempt, signal: AbortSignal.any([job.signal, timedOut.signal]) };
    try {
      const running = Promise.resolve(this.#inside.run(name, () => run(step)));
      return await Promise.race([running, expiry.then(() => running)]);
    } finally {
      ended.abort();
    }
  }

  /** Writes a record, and returns what the store has: the same, or what was there. */
  async #remember(name: string, record: string): Promise<string> {
    const rows = await this.#load();
    const before = rows.get(name);
    this.#resize(name, record.length);
    if (this.#characters > MAX_STEPS_CHARACTERS) {
      throw new StepError(
        `The steps of this job have more than ${MAX_STEPS_CHARACTERS} characters with step "${name}"; keep large values elsewhere, and return where`,
      );
    }
    const stored = this.#held(await this.#insist(() => this.#services.steps.remember({ name, record })));
    if (before === undefined) this.#count++;
    rows.set(name, readStep(name, stored));
    return stored;
  }

  #held<Answer>(answer: Answer | undefined): Answer {
    if (answer === undefined) {
      const error = new LeaseLost();
      this.#job.abort(error);
      throw error;
    }
    this.#hasWritten = true;
    return answer;
  }

  #resize(name: string, characters: number): void {
    this.#characters += characters - (this.#sizes.get(name) ?? 0);
    this.#sizes.set(name, characters);
  }

  #load(): Promise<Map<string, Step>> {
    return this.#loading ??= this.#read();
  }

  async #read(): Promise<Map<string, Step>> {
    if (this.#job.jid === "") throw new StepError("This job has no jid, and its steps could not be found again");
    if (!mayHaveSteps(this.#job.job.payload)) return new Map();
    const stored = await this.#insist(() => this.#services.steps.read());
    this.#count = stored.length;
    for (const { name, record } of stored) this.#resize(name, record.length);
    return new Map(stored.map(({ name, record }) => [name, readStep(name, record)]));
  }

  /** Calls the store until it answers, or the job is to end: what a step did must not be repeated for an outage. */
  async #insist<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    for (;;) {
      try {
        return await call();
      } catch (error) {
        if (!(error instanceof StoreError && error.transient)) throw error;
        await this.#services.clock.sleep(RETRY_MS * (0.5 + Math.random()), this.#job.signal);
        if (this.#job.abortedBy !== undefined) throw this.#job.abortedBy;
      }
    }
  }

  #record(
    state: "done" | "failed" | "running",
    kind: StepKind,
    { since, ...more }: { readonly since: number; readonly [field: string]: unknown },
    value = "",
  ): string {
    const text = JSON.stringify({ state, since, ended: this.#now(), kind, ...more });
    if (value === "") return text;
    return `${text.slice(0, -1)},"${kind === "each" ? "cursor" : "value"}":${value}}`;
  }

  #now(): number {
    return Math.round(this.#services.clock.now());
  }
}

/** The JSON of a result; empty for none. */
function resultText(name: string, value: unknown, what = "result"): string {
  if (value === undefined) return "";
  const text = checkValue(value, `${what} of step "${name}"`) ? stringifyLossless(value)! : JSON.stringify(value);
  if (text.length <= MAX_STEP_CHARACTERS) return text;
  throw new StepError(
    `The ${what} of step "${name}" has ${text.length} characters of JSON; at most ${MAX_STEP_CHARACTERS}: keep it elsewhere, and return where`,
  );
}
