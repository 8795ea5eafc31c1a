/**
 * Tracks the steps that are active in one attempt, and ends the attempt when all that remains is waiting.
 *
 *  1. A step name is used once in an attempt, and a step cannot contain another.
 *  2. A step that sleeps or waits pauses. The attempt ends when a step has paused and no other step is active, so that
 *     steps side by side end first. The job runs again when the first pause ends.
 *  3. While the worker stops, no further step begins: the job returns to the front of its queue.
 *  4. When the handler has ended, no further step begins. The attempt ends after the active ones: a step whose function has
 *     run must be stored, also if one next to it has failed.
 *
 * @module
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Clock } from "../clock.ts";
import { Asleep, Released, StepError } from "./errors.ts";
import type { StepJob } from "./services.ts";

/** The step that the running code belongs to. One for all jobs: one for each would be made and dropped with each job. */
const running = new AsyncLocalStorage<{ readonly name: string; readonly of: ActiveSteps }>();

/** A use of a step that has paused: it ends the attempt, unless other steps are active. */
export class Pause {
  /** When the pause ends, in milliseconds of the monotonic clock. */
  readonly wakeAt: number;
  /** Shown as the reason why the job sleeps. */
  readonly reason: string;

  constructor(wakeAt: number, reason: string) {
    this.wakeAt = wakeAt;
    this.reason = reason;
  }
}

export class ActiveSteps {
  readonly #job: StepJob;
  readonly #clock: Clock;
  readonly #used = new Set<string>();
  /** The names of the active steps, in the order in which they began. */
  readonly #active = new Set<string>();
  readonly #paused: { readonly pause: Pause; readonly reject: (error: Error) => void }[] = [];
  #isChecking = false;
  #ending: Error | undefined;
  #isFinished = false;
  /** Resolves when no step is active. Set if some are when the handler ends. */
  #idle: PromiseWithResolvers<void> | undefined;

  constructor(job: StepJob, clock: Clock) {
    this.#job = job;
    this.#clock = clock;
  }

  /** The error that ends an attempt whose job has neither succeeded nor failed: it sleeps, or its worker stops. */
  get ending(): Error | undefined {
    return this.#ending;
  }

  /** The name of the active step that began last; undefined if none is active. */
  get current(): string | undefined {
    return [...this.#active].at(-1);
  }

  /** Runs code as the code of a step, in which no other step may begin. */
  inside<Result>(name: string, run: () => Result): Result {
    return running.run({ name, of: this }, run);
  }

  /** Returns a pause of this many milliseconds. */
  pause(ms: number, reason: string): Pause {
    return new Pause(this.#clock.monotonic() + ms, reason);
  }

  /**
   * Runs one use of a step. If `run` returns a {@linkcode Pause}, the promise rejects when the attempt ends.
   *
   * @throws if the step may not begin
   */
  use<Result>(name: string, run: () => Promise<Result | Pause>): Promise<Result> {
    if (this.#ending !== undefined) throw this.#ending;
    if (this.#job.abortedBy !== undefined) throw this.#job.abortedBy;
    this.throwIfFinished(name);
    const outer = running.getStore();
    if (outer?.of === this) {
      throw new StepError(`Step "${name}" begins inside of step "${outer.name}"; a step cannot contain another`);
    }
    if (this.#used.has(name)) {
      throw new StepError(
        `Step name "${name}" is used twice in one run; in a loop, tell the steps apart with { each: id }`,
      );
    }
    this.#used.add(name);
    this.#active.add(name);
    // An async function would stay in memory while the step runs and is stored, and there are as many as jobs run.
    let ended: Promise<Result | Pause>;
    try {
      ended = run();
    } catch (error) {
      ended = Promise.reject(error);
    }
    return ended.then((result) => {
      this.#ended(name);
      return result instanceof Pause ? this.#waitForEnd(name, result) : result;
    }, (error) => {
      this.#ended(name);
      throw error;
    });
  }

  /** Ends the attempt, because its worker stops. */
  release(): never {
    const released = new Released();
    this.#end(released);
    throw this.#ending ?? released;
  }

  /**
   * Prevents further steps, because the handler has ended.
   *
   * @returns a promise that resolves when the active steps have ended; undefined if none is active
   */
  finish(): Promise<void> | undefined {
    this.#isFinished = true;
    for (const { reject } of this.#paused.splice(0)) reject(this.#ending ?? new StepError("The handler has ended"));
    if (this.#active.size === 0) return undefined;
    this.#idle ??= Promise.withResolvers();
    return this.#idle.promise;
  }

  /** Throws if the handler has ended. */
  throwIfFinished(name: string): void {
    if (this.#isFinished) {
      throw new StepError(`Step "${name}" begins or continues after its handler has ended; await each step`);
    }
  }

  #ended(name: string): void {
    this.#active.delete(name);
    if (this.#active.size === 0) this.#idle?.resolve();
    this.#endIfPaused();
  }

  /** Returns a promise that rejects when the attempt ends. */
  #waitForEnd(name: string, pause: Pause): Promise<never> {
    this.throwIfFinished(name);
    return new Promise((_, reject) => {
      this.#paused.push({ pause, reject });
      this.#endIfPaused();
    });
  }

  #endIfPaused(): void {
    if (this.#paused.length === 0 || this.#active.size > 0 || this.#isChecking) return;
    this.#isChecking = true;
    // In the next turn: code that awaited a step may begin another one in this turn.
    void this.#clock.turn().then(() => {
      this.#isChecking = false;
      // A release in the meantime has ended the attempt already.
      if (this.#active.size > 0 || this.#paused.length === 0) return;
      const pauses = this.#paused.map(({ pause }) => pause);
      const first = pauses.reduce((one, other) => other.wakeAt < one.wakeAt ? other : one);
      const delayMs = Math.max(0, Math.round(first.wakeAt - this.#clock.monotonic()));
      this.#end(new Asleep(delayMs, `Asleep: ${first.reason}`));
    });
  }

  #end(ending: Error): void {
    // Once the handler has ended, its end counts.
    if (!this.#isFinished) this.#ending ??= ending;
    for (const { reject } of this.#paused.splice(0)) reject(this.#ending ?? ending);
  }
}
