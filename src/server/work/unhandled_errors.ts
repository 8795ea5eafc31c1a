/**
 * Handles errors that no code catches: a promise that a handler doesn't await rejects, or the callback of a timer throws. By
 * default they would end the process, and with it all other jobs. This file attributes them to their job, logs and counts
 * them. An error in the callback of a timer can't be attributed: the runtime reports it outside the callback's context.
 *
 * @module
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { RunningJob } from "../../handlers/running_job.ts";
import type { Log } from "../../log/log.ts";
import { asText } from "../../log/value.ts";

export interface UnhandledErrorsOptions {
  readonly log: Log;
  /** Also catches errors that belong to no job: for the executable, in which no other code does. */
  readonly catchAll: boolean;
}

export class UnhandledErrors {
  readonly #current = new AsyncLocalStorage<RunningJob>();
  readonly #options: UnhandledErrorsOptions;
  #count = 0;
  readonly #onRejection = (event: PromiseRejectionEvent) => this.#catch(event, event.reason);
  readonly #onError = (event: ErrorEvent) => this.#catch(event, event.error);

  constructor(options: UnhandledErrorsOptions) {
    this.#options = options;
  }

  /** Number of errors caught. */
  get count(): number {
    return this.#count;
  }

  /** The job that the running code belongs to. */
  get current(): RunningJob | undefined {
    return this.#current.getStore();
  }

  /** Runs a handler as part of a job. */
  run<Result>(job: RunningJob, run: () => Result): Result {
    return this.#current.run(job, run);
  }

  start(): void {
    globalThis.addEventListener("unhandledrejection", this.#onRejection);
    globalThis.addEventListener("error", this.#onError);
  }

  stop(): void {
    globalThis.removeEventListener("unhandledrejection", this.#onRejection);
    globalThis.removeEventListener("error", this.#onError);
  }

  #catch(event: Event, error: unknown): void {
    const job = this.#current.getStore();
    if (job === undefined && !this.#options.catchAll) return;
    event.preventDefault();
    this.#count++;
    this.#options.log.error("Unhandled error", {
      ...(job && { class: job.class, jid: job.jid }),
      error: asText(error),
      stack: stackOf(error),
    });
  }
}

/** Returns the stack if there is one. A handler may throw anything, also an object whose `stack` throws. */
function stackOf(error: unknown): string | undefined {
  try {
    return error instanceof Error ? error.stack : undefined;
  } catch {
    return undefined;
  }
}
