/**
 * Tells running jobs that their worker takes no more jobs and may stop.
 *
 * @module
 */
import { Shutdown } from "../job/errors.ts";

/** One worker's notice. A worker that resumes starts a new one; jobs that saw the old one keep it. */
export class StopNotice {
  #controller = new AbortController();

  /** Aborts when the worker goes quiet or stops. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Aborts {@linkcode signal}. */
  give(): void {
    this.#controller.abort(new Shutdown("The worker takes no more jobs"));
  }

  /** Starts a new {@linkcode signal}, for the jobs to come. */
  renew(): void {
    if (this.signal.aborted) this.#controller = new AbortController();
  }
}
