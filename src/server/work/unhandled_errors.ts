/**
 * Errors that nobody awaits: a handler left a promise behind that rejects, or threw in a timer. By default they would end
 * the process and with it all other jobs. Here they are attributed to the job where possible, logged and counted. What
 * is thrown in a timer's callback belongs to no job any more: the runtime tells of it outside the callback's context.
 *
 * @module
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { JobContext } from "../../handlers/context.ts";
import type { Log } from "../../log/log.ts";
import { asText } from "../../log/value.ts";
import type { Service } from "../service.ts";

/** Knows which job the running code belongs to, and catches what that job's handler does not. */
export class UnhandledErrors implements Service {
  readonly name = "unhandled-errors";
  readonly #current = new AsyncLocalStorage<JobContext>();
  readonly #log: Log;
  readonly #catchAll: boolean;
  #count = 0;
  readonly #onRejection = (event: PromiseRejectionEvent) => this.#catch(event, event.reason);
  readonly #onError = (event: ErrorEvent) => this.#catch(event, event.error);

  /**
   * @param options.catchAll also what belongs to no job: for the executable, where nobody else would
   */
  constructor(options: { log: Log; catchAll: boolean }) {
    this.#log = options.log;
    this.#catchAll = options.catchAll;
  }

  /** How many there were. */
  get count(): number {
    return this.#count;
  }

  /** Runs a handler as part of a job. */
  run<Result>(job: JobContext, run: () => Result): Result {
    return this.#current.run(job, run);
  }

  start(): void {
    globalThis.addEventListener("unhandledrejection", this.#onRejection);
    globalThis.addEventListener("error", this.#onError);
  }

  stop(): Promise<void> {
    globalThis.removeEventListener("unhandledrejection", this.#onRejection);
    globalThis.removeEventListener("error", this.#onError);
    return Promise.resolve();
  }

  #catch(event: Event, error: unknown): void {
    const job = this.#current.getStore();
    if (job === undefined && !this.#catchAll) return;
    event.preventDefault();
    this.#count++;
    this.#log.error("Error that nobody awaited", {
      ...(job && { class: job.class, jid: job.jid }),
      error: asText(error),
      stack: stackOf(error),
    });
  }
}

/** The stack, where there is one: what a handler throws may be anything, and this is the last place to catch it. */
function stackOf(error: unknown): string | undefined {
  try {
    return error instanceof Error ? error.stack : undefined;
  } catch {
    return undefined;
  }
}
