/**
 * Notifies running jobs that their worker takes no more jobs and may stop.
 *
 * @module
 */
import { Shutdown } from "../job/errors.ts";

/** The notice of one worker. A worker that resumes renews it; jobs that received the old signal keep it. */
export class StopNotice {
  #controller = new AbortController();

  /** Aborts when the worker becomes quiet or stops. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  give(): void {
    this.#controller.abort(new Shutdown("The worker takes no more jobs"));
  }

  /** Replaces an aborted {@linkcode signal}, for later jobs. */
  renew(): void {
    if (this.signal.aborted) this.#controller = new AbortController();
  }
}
