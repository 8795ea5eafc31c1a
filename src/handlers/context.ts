/**
 * The first argument of a handler. The worker uses `running_job.ts` for the same job.
 *
 * @module
 */
import type { MemberBatch } from "../client/member_batch.ts";
import type { MemberFlow } from "../client/member_flow.ts";
import type { Client } from "../client/client.ts";
import type { Payload } from "../job/job.ts";
import type { Occurrence } from "../job/occurrence.ts";
import type { Log } from "../log/log.ts";
import type { StepContext } from "../steps/context.ts";
import type { Transaction } from "../job/transaction.ts";

/** The progress of a job, as its handler reports it. */
export interface Progress {
  /** Any number: percent, rows, bytes. */
  readonly done: number;
  /** A note next to the number; at most 200 characters. */
  readonly note: string | undefined;
}

/** The span that a job is performed in. */
export interface JobTrace {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  /** Headers that continue the trace in another process: `traceparent`, `tracestate`, `baggage`. */
  readonly carrier: Readonly<Record<string, string>>;
}

/**
 * The first argument of every handler.
 *
 * @example
 * ```ts
 * import { defineJob, type JobContext } from "@jobs/jobs";
 *
 * const Import = defineJob("Import", async (ctx: JobContext, file: string) => {
 *   ctx.log.info("Importing", { file });
 *   for (let row = 0; row < 100 && !ctx.stopping.aborted; row++) ctx.progress(row);
 *   await ctx.client.push("Notify", [file]);
 * });
 * ```
 */
export interface JobContext extends StepContext {
  /** 24 hex digits; the same in all attempts. */
  readonly jid: string;
  /** The class whose handler performs the job. */
  readonly class: string;
  /** The queue that the job was taken from. */
  readonly queue: string;
  /** The number of the attempt, from 1. */
  readonly attempt: number;
  /** The whole payload, parsed. Don't change it. */
  readonly payload: Payload;
  /** The text of the payload, as the store has it. */
  readonly raw: string;
  /** The span that the job is performed in; undefined unless tracing is on. */
  readonly trace: JobTrace | undefined;
  /**
   * Aborts when the worker stops or becomes quiet (TERM, TSTP, `jobs quiet`). The job may continue until the shutdown
   * timeout; a long one can push a continuation and return, or throw `Snooze`. After the worker resumes, later jobs get a
   * new signal. When the job has ended, it doesn't abort any more.
   */
  readonly stopping: AbortSignal;
  /**
   * Aborts when the job must end. Pass it on to `fetch`. It aborts with one of these reasons:
   *
   * - {@linkcode Shutdown}: the worker's shutdown timeout has expired. The handler has 3 s more. If it returns or throws
   *   `Snooze`, `Discard` or `Kill` in that time, that counts. Any other error, or no end, returns the job to its queue.
   * - {@linkcode Timeout}: the job's timeout has expired. The attempt has failed, whatever the handler does.
   * - {@linkcode Cancelled}: the job was cancelled, and isn't retried.
   * - {@linkcode LeaseLost}: another worker has the job now.
   */
  readonly signal: AbortSignal;
  /** Logs with the job's class, jid and queue on every line. Lines below the job's `log_level` are dropped. */
  readonly log: Log;
  /** The cron run that the job was enqueued for; undefined if no cron entry enqueued it. */
  readonly occurrence: Occurrence | undefined;
  /** The batch that counts the job; undefined if it has none. The job may add members to it while it runs. */
  readonly batch: MemberBatch | undefined;
  /** The flow that the job is a node of; undefined if it is of none. Has the results of earlier nodes. */
  readonly flow: MemberFlow | undefined;
  /** Pushes more jobs. */
  readonly client: Client;
  /**
   * Reports the progress of the job, which is shown with the job and in the dump.
   *
   * @param done any number: percent, rows, bytes
   * @param note shown next to the number; truncated to 200 characters. `"percent"` or `"of 8,000 rows"` adds a bar in the
   *   dashboard.
   */
  progress(done: number, note?: string): void;
  /**
   * Adds a chunk to the stream of the job: a token of a model, a line of a build. Programs, pages and `jobs stream` read it while the job
   * runs, and as long as its record is kept. Chunks are written together, ten times a second; the latest 1 MiB is kept.
   *
   * A job that runs again continues its stream, as the next run.
   *
   * @param chunk a text, or another value that is JSON: at most 64 KiB
   * @returns a promise that resolves when there is room for the next chunk: await it in a loop that is faster than the store
   * @throws {TypeError} if the chunk isn't JSON, is too large, or comes after the end of the handler
   */
  stream(chunk: unknown): Promise<void>;
  /** Throws the reason of {@linkcode signal} if it has aborted. */
  throwIfAborted(): void;
  /**
   * Ends the job by throwing a {@linkcode Discard}: it is dropped, without a retry and without a place in the dead set.
   *
   * @param reason shown in the log
   */
  discard(reason?: string): never;
  /**
   * Ends the job by throwing a {@linkcode Kill}: it moves to the dead set, without a retry.
   *
   * @param reason kept as the message of its error
   */
  kill(reason?: string): never;
  /**
   * Ends the attempt by throwing a {@linkcode Snooze}: the job runs again later, without counting a failure.
   *
   * @param delay seconds, or a duration such as `5m`
   * @throws {RangeError} if the duration is invalid
   */
  snooze(delay: number | string): never;
  /**
   * Ends the job in a transaction of the application: what the handler writes there and the end of the job are stored together, or
   * neither is. Needs a store in the same PostgreSQL database. Call it last, then commit. If the transaction is rolled back, the
   * attempt has failed. The value that the handler returns afterwards is ignored.
   *
   * @example
   * ```ts ignore
   * await sql.begin(async (transaction) => {
   *   await transaction`UPDATE account SET balance = balance - ${amount} WHERE id = ${id}`;
   *   await ctx.complete(transaction);
   * });
   * ```
   *
   * @param transaction the `sql` of `sql.begin` of npm `postgres`, or a client of npm `pg` after its `BEGIN`
   * @param result the job's result, instead of the value that the handler returns
   * @throws {LeaseLost} if another worker has the job now: roll the transaction back
   */
  complete(transaction: Transaction, result?: unknown): Promise<void>;
}
