/**
 * A job whose handler runs in another program. Its processor waits here until the program has sent the end.
 *
 * @module
 */
import type { JobContext } from "../handlers/context.ts";

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
  /** When it was given to the program, in epoch milliseconds. */
  readonly since: number;
  /** Since when the program's heartbeats don't list it, on the monotonic clock. */
  #missingSince: number | undefined;

  constructor(job: JobContext, token: string, since: number) {
    this.job = job;
    this.token = token;
    this.since = since;
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

  /**
   * Notes whether the program has listed it in a heartbeat. Returns for how long it has been missing, in milliseconds: its answer may be
   * on the way at first.
   */
  listed(isListed: boolean, now: number): number {
    this.#missingSince = isListed ? undefined : this.#missingSince ?? now;
    return now - (this.#missingSince ?? now);
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
