/**
 * Reports a handler that ends the process, with `Deno.exit` or `process.exit`. All jobs of this worker end with it, and run again
 * when it is offline. Without the report, the worker would be gone without a line, and with the code of success.
 *
 * @module
 */
import type { RunningJob } from "../../handlers/running_job.ts";
import type { Log } from "../../log/log.ts";
import type { Component } from "../component.ts";

export interface HandlerExitOptions {
  readonly log: Log;
  /** Returns the job that the running code belongs to. */
  readonly current: () => RunningJob | undefined;
}

export class HandlerExit implements Component {
  readonly name = "handler-exit";
  readonly #options: HandlerExitOptions;
  readonly #onUnload = () => this.#report();

  constructor(options: HandlerExitOptions) {
    this.#options = options;
  }

  start(): void {
    globalThis.addEventListener("unload", this.#onUnload);
  }

  stop(): void {
    globalThis.removeEventListener("unload", this.#onUnload);
  }

  #report(): void {
    const job = this.#options.current();
    if (job === undefined) return;
    const { class: name, jid, queue } = job;
    this.#options.log.error("Handler ended the process of its worker: throw an error instead", {
      class: name,
      jid,
      queue,
      code: Deno.exitCode,
    });
    if (Deno.exitCode === 0) Deno.exitCode = 1;
  }
}
