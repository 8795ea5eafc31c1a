/**
 * A job whose handler runs in another program. Its processor waits here until the program has sent the end.
 *
 * @module
 */
import type { JobContext } from "../handlers/context.ts";
import { leaseOf } from "../handlers/running_context.ts";

/** Why a program must end a job: the name of the reason with which its signal aborts. */
export type AbortName = "Cancelled" | "Timeout" | "Shutdown" | "LeaseLost";

export class RemoteJob {
  readonly job: JobContext;
  /** Names this attempt: the token of the lease. */
  readonly token: string;
  /** Settles as the program's handler does. */
  readonly ended: Promise<unknown>;
  readonly #end = Promise.withResolvers<unknown>();
  #isOver = false;

  constructor(job: JobContext) {
    this.job = job;
    this.token = leaseOf(job)!.token;
    this.ended = this.#end.promise;
    this.ended.catch(() => {});
  }

  /** Whether its end counts no more. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** The reason why the program must end it; undefined if it may continue. */
  get abortedBy(): AbortName | undefined {
    const { signal } = this.job;
    return signal.aborted ? (signal.reason as Error).name as AbortName : undefined;
  }

  /** Ends it with a result. */
  succeed(value: unknown): void {
    this.#isOver = true;
    this.#end.resolve(value);
  }

  /** Ends it with an error. */
  fail(error: unknown): void {
    this.#isOver = true;
    this.#end.reject(error);
  }
}
