/**
 * The errors of pushes and jobs: of a rejected push, those that a handler throws to decide about its job
 * (`verdict.ts`), and the reasons with which a job's signal aborts.
 *
 * @module
 */
import { showValue } from "./describe_error.ts";
import { formatDuration, parseDuration } from "./duration.ts";
import { giveMark } from "./mark.ts";

/**
 * A job is invalid. Nothing was stored.
 *
 * @example
 * ```ts
 * import { Client, InvalidPayload, openStore } from "@jobs/jobs";
 *
 * await using store = await openStore("sqlite::memory:");
 * const client = new Client({ store, onUnregistered: () => {} });
 * await client.push({ class: "Report", args: [{ born: new Date(0) }] }).catch((error) => {
 *   if (!(error instanceof InvalidPayload) || error.field !== "args[0].born") throw error;
 * });
 * ```
 */
export class InvalidPayload extends Error {
  /** Identifies the error across copies of this library, where `instanceof` fails. */
  override readonly name = "InvalidPayload";
  /** The invalid field, as a path: `args[1].user.born`. */
  readonly field: string;
  /** Its value, shortened. */
  readonly value: string;
  /** The valid values, in words. */
  readonly expected: string;

  /**
   * Creates the error.
   *
   * @param field the invalid field, as a path
   * @param value its value
   * @param expected the valid values; completes "expected …"
   */
  constructor(field: string, value: unknown, expected: string) {
    const shown = showValue(value);
    super(`${field} is ${shown}; expected ${expected}`);
    this.field = field;
    this.value = shown;
    this.expected = expected;
  }

  /** Returns the same error for a field of this path: `nodes.load` makes `args` to `nodes.load.args`. */
  within(path: string): InvalidPayload {
    const error = new InvalidPayload(`${path}.${this.field}`, this.value, this.expected);
    return Object.assign(error, { value: this.value, message: `${path}.${this.message}` });
  }
}

/**
 * Thrown by a handler: drops the job, without a retry and without a place in the dead set.
 *
 * @example
 * ```ts
 * import { defineJob, Discard } from "@jobs/jobs";
 *
 * const Remind = defineJob("Remind", (_ctx, account: { closed: boolean }) => {
 *   if (account.closed) throw new Discard("The account is closed");
 * });
 * ```
 */
export class Discard extends Error {
  /** Identifies the error across copies of this library, where `instanceof` fails. */
  override readonly name = "Discard";
}
giveMark(Discard, "discard");

/**
 * Thrown by a handler: moves the job to the dead set, without a retry.
 *
 * @example
 * ```ts
 * import { defineJob, Kill } from "@jobs/jobs";
 *
 * const Charge = defineJob("Charge", (_ctx, amount: number) => {
 *   if (amount < 0) throw new Kill("Retries can't help: the amount is negative");
 * });
 * ```
 */
export class Kill extends Error {
  /** Identifies the error across copies of this library, where `instanceof` fails. */
  override readonly name = "Kill";
}
giveMark(Kill, "kill");

/**
 * Thrown by a handler: runs the job again later, without counting a failure.
 *
 * @example
 * ```ts
 * import { defineJob, Snooze } from "@jobs/jobs";
 *
 * const Poll = defineJob("Poll", async (_ctx, url: string) => {
 *   const { status } = await fetch(url);
 *   if (status === 202) throw new Snooze("30s"); // not ready: no attempt is used
 * });
 * ```
 */
export class Snooze extends Error {
  /** Identifies the error across copies of this library, where `instanceof` fails. */
  override readonly name = "Snooze";
  /** Milliseconds until the job runs again. */
  readonly delayMs: number;

  /**
   * Creates the error.
   *
   * @param delay seconds, or a duration such as `5m`
   * @throws {RangeError} if the duration is invalid
   */
  constructor(delay: number | string) {
    const delayMs = parseDuration(String(delay));
    super(`Again in ${formatDuration(delayMs)}`);
    this.delayMs = delayMs;
  }
}
giveMark(Snooze, "snooze");

/**
 * The reason with which a job's signal aborts when the worker's shutdown timeout expires. A result that the handler then
 * returns still counts, and so does a `Snooze`, `Discard` or `Kill`. Any other error returns the job to its queue.
 *
 * @example
 * ```ts
 * import { defineJob, Shutdown } from "@jobs/jobs";
 *
 * const Long = defineJob("Long", async (ctx, page: number) => {
 *   await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
 *   if (ctx.signal.reason instanceof Shutdown) await ctx.client.push("Long", [page]); // counts: this job is done
 * });
 * ```
 */
export class Shutdown extends Error {
  /** Identifies the error across copies of this library, where `instanceof` fails. */
  override readonly name = "Shutdown";
}

/**
 * The reason with which a job's signal aborts when this worker has lost the job: the worker was frozen or cut off from the
 * store until its heartbeat lapsed, and the job was rescued. The outcome of the handler is ignored.
 *
 * @example
 * ```ts
 * import { defineJob, LeaseLost } from "@jobs/jobs";
 *
 * const Long = defineJob("Long", async (ctx) => {
 *   await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
 *   if (ctx.signal.reason instanceof LeaseLost) console.log("another worker has this job now");
 * });
 * ```
 */
export class LeaseLost extends Error {
  /** Identifies the error across copies of this library, where `instanceof` fails. */
  override readonly name = "LeaseLost";

  /**
   * Creates the error.
   *
   * @param message the reason
   */
  constructor(message = "This worker's heartbeat lapsed, and the job was rescued: it runs again elsewhere") {
    super(message);
  }
}

/**
 * The failure of a job that ran for longer than its timeout; also the reason with which its signal aborts.
 *
 * @example
 * ```ts
 * import { defineJob, Timeout } from "@jobs/jobs";
 *
 * const Render = defineJob("Render", async (ctx) => {
 *   await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
 *   if (ctx.signal.reason instanceof Timeout) console.log("took more than a minute");
 * }, { timeout: "1m" });
 * ```
 */
export class Timeout extends Error {
  /** Identifies the error across copies of this library, where `instanceof` fails. */
  override readonly name = "Timeout";

  /**
   * Creates the error.
   *
   * @param limitMs the job's timeout
   */
  constructor(limitMs: number) {
    super(`Ran for longer than its timeout of ${formatDuration(limitMs)}`);
    // The stack of the timer is unrelated to the job.
    this.stack = `${this.name}: ${this.message}`;
  }
}

/**
 * The failure of a job that keeps killing its workers. Only the hook `death` receives it.
 *
 * @example
 * ```ts
 * import { type Hooks, WorkerDied } from "@jobs/jobs";
 *
 * const hooks: Hooks = {
 *   death: (payload, error) => {
 *     if (error instanceof WorkerDied) console.error(`${payload.class} crashed its workers: ${error.message}`);
 *   },
 * };
 * ```
 */
export class WorkerDied extends Error {
  /** Identifies the error across copies of this library, where `instanceof` fails. */
  override readonly name = "WorkerDied";

  /**
   * Creates the error.
   *
   * @param times the number of workers that died while running the job
   * @param ended how the last worker ended, if known: `killed by signal 9 (SIGKILL)`
   */
  constructor(times: number, ended?: string) {
    super(`Worker died ${times} times while running it${ended === undefined ? "" : `: ${ended}`}`);
    // The stack of the worker that creates this error is unrelated to the job.
    this.stack = `${this.name}: ${this.message}`;
  }
}
giveMark(WorkerDied, "kill");

/**
 * The reason with which a job's signal aborts when the job is cancelled. A cancelled job isn't retried. Thrown by a handler whose job
 * isn't cancelled, it is a failure like any other.
 *
 * @example
 * ```ts
 * import { Cancelled, defineJob } from "@jobs/jobs";
 *
 * const Long = defineJob("Long", async (ctx) => {
 *   await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
 *   if (ctx.signal.reason instanceof Cancelled) console.log("cancelled: cleaning up");
 * });
 * ```
 */
export class Cancelled extends Error {
  /** Identifies the error across copies of this library, where `instanceof` fails. */
  override readonly name = "Cancelled";

  /**
   * Creates the error.
   *
   * @param message the reason, or the operator who cancelled it
   */
  constructor(message = "Cancelled on request") {
    super(message);
  }
}

/** A job's class has no handler in this worker. The job waits for another worker; after a week without one it fails. */
export class HandlerMissing extends Error {
  /** Identifies the error across copies of this library, where `instanceof` fails. */
  override readonly name = "HandlerMissing";

  /**
   * Creates the error.
   *
   * @param className the job's class
   * @param known the classes that have a handler
   */
  constructor(className: string, known: readonly string[]) {
    super(`No handler for class "${className}"; this worker has ${known.length > 0 ? known.join(", ") : "none"}`);
    // No code of the job has run.
    this.stack = `${this.name}: ${this.message}`;
  }
}
giveMark(HandlerMissing, "no handler");
