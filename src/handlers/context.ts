/**
 * What a handler receives as its first argument. The worker's own handle on the same job is `running_job.ts`.
 *
 * @module
 */
import type { MemberBatch } from "../client/member_batch.ts";
import type { Client } from "../client/client.ts";
import type { Payload } from "../job/job.ts";
import type { Occurrence } from "../job/occurrence.ts";
import type { Log } from "../log/log.ts";
import type { StepContext } from "../steps/context.ts";

/** How far a job is, as its handler reports it. */
export interface Progress {
  /** What the handler counts: percent, rows, bytes. */
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

/** The first argument of every handler. */
export interface JobContext extends StepContext {
  /** 24 hex digits; the same in all attempts. */
  readonly jid: string;
  /** The class whose handler performs it. */
  readonly class: string;
  /** The queue it was taken from. */
  readonly queue: string;
  /** 1 at the first attempt. */
  readonly attempt: number;
  /** The whole payload, parsed. Don't change it. */
  readonly payload: Payload;
  /** The payload's text, as it is stored. */
  readonly raw: string;
  /** The span it is performed in; undefined unless tracing is on. */
  readonly trace: JobTrace | undefined;
  /**
   * Aborts when the worker stops or goes quiet (TERM, TSTP, `jobs quiet`). The job may run on until the shutdown timeout;
   * a long one can push a continuation and return, or throw `Snooze`. For a worker that resumes, later jobs get a new signal.
   */
  readonly stopping: AbortSignal;
  /**
   * Aborts when the job must end. Pass it on to `fetch`. Its reason says why:
   *
   * - {@linkcode Shutdown}: the worker's shutdown timeout is over. The handler has 3 s more, and what it returns or throws
   *   in them counts: a result, `Snooze`, `Discard`, `Kill`. Any other error, or no end, returns the job to its queue.
   * - {@linkcode Timeout}: the job's timeout has passed. It has failed, whatever the handler does.
   * - {@linkcode Cancelled}: the job was cancelled, and isn't retried.
   * - {@linkcode LeaseLost}: another worker has the job now.
   */
  readonly signal: AbortSignal;
  /** Logs with the job's class, jid and queue on every line. Lines below the job's `log_level` are dropped. */
  readonly log: Log;
  /** The cron entry and time that it was enqueued for; undefined if it wasn't enqueued by a cron entry. */
  readonly occurrence: Occurrence | undefined;
  /** The batch that counts the job; undefined if it has none. Add members to it while this one runs. */
  readonly batch: MemberBatch | undefined;
  /** Pushes more jobs. */
  readonly client: Client;
  /**
   * Reports how far the job is: shown with the job, and in the dump.
   *
   * @param done any number: percent, rows, bytes
   * @param note shown next to it; cut to 200 characters
   */
  progress(done: number, note?: string): void;
  /** Throws the reason of {@linkcode signal} if it has aborted. */
  throwIfAborted(): void;
}
