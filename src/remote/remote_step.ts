/**
 * A step of a job whose handler runs in another program. The program requests it, and if it isn't done, runs its part and sends the
 * result with the same request. Each request can be repeated: the use has a number within its attempt.
 *
 * If this process dies in between, the program shows its jobs to another one, and repeats the request with the result.
 *
 * @module
 */
import type { JobContext } from "../handlers/context.ts";
import { type ContextRequest, performOther, performStep, type StepRequest } from "../handlers/step_request.ts";
import { describeError } from "../job/describe_error.ts";
import { LeaseLost } from "../job/errors.ts";
import { Asleep, ChildFailed, isReleased, StepFailed } from "../steps/errors.ts";
import { spanMs, type StepRun } from "../steps/options.ts";
import { type End, errorOf } from "./program.ts";

/** A request of a program for its job. */
export type UseRequest = StepRequest | ContextRequest;

/** The answer to a request. */
export type UseAnswer =
  /** The step isn't done: run it, and send its result. */
  | {
    readonly run: { readonly attempt: number; readonly idempotencyKey: string; readonly timeoutMs?: number };
  }
  | { readonly done: { readonly value?: unknown } }
  /** It has failed, for the handler to catch. */
  | { readonly failed: { readonly class: string; readonly message: string; readonly final?: boolean } }
  /** The attempt ends: the job sleeps, waits or must end. */
  | { readonly ends: true };

/** The end of a program's part of a step. */
export type PartEnd = Omit<End, "token">;

export class RemoteStep {
  readonly #run = Promise.withResolvers<UseAnswer>();
  readonly #part = Promise.withResolvers<unknown>();
  readonly #done: Promise<UseAnswer>;

  /** @param onLost called if another worker has the job now */
  constructor(job: JobContext, request: UseRequest, onLost: (error: LeaseLost) => void) {
    this.#part.promise.catch(() => {}); // the step may end without it
    this.#done = this.#perform(job, request, onLost);
  }

  /** Resolves when the program must do something. */
  answer(result?: PartEnd): Promise<UseAnswer> {
    if (result === undefined) return Promise.race([this.#run.promise, this.#done]);
    if (result.end === "succeeded") this.#part.resolve(result.result);
    else this.#part.reject(errorOf(result));
    return this.#done;
  }

  /** The program's handler has ended: no result will come. */
  abandon(): void {
    this.#part.reject(new Error("The handler ended without a result of the step"));
  }

  async #perform(job: JobContext, request: UseRequest, onLost: (error: LeaseLost) => void): Promise<UseAnswer> {
    try {
      const value = request.kind === "results" || request.kind === "member"
        ? await performOther(job, request)
        : await performStep(job, request, (step) => this.#runPart(request, step));
      return { done: value === undefined ? {} : { value } };
    } catch (error) {
      if (error instanceof LeaseLost) onLost(error);
      else if (!(error instanceof Asleep || isReleased(error) || job.signal.aborted)) {
        const { class: name, message } = describeError(error);
        const isFinal = error instanceof StepFailed || error instanceof ChildFailed;
        return { failed: { class: name, message, ...(isFinal && { final: true }) } };
      }
      return { ends: true };
    }
  }

  #runPart(request: UseRequest, { attempt, idempotencyKey }: StepRun): Promise<unknown> {
    const timeout = request.kind === "step" ? request.options?.timeout : undefined;
    const limit = timeout === undefined ? {} : { timeoutMs: spanMs("timeout", timeout) };
    this.#run.resolve({ run: { attempt, idempotencyKey, ...limit } });
    return this.#part.promise;
  }
}
