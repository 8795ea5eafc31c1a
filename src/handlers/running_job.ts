/**
 * A running job, for the worker or isolated process that performs it: aborts the job, and reads the reports of the handler.
 * The handler receives only {@linkcode RunningJob.context}.
 *
 * @module
 */
import { systemClock } from "../clock.ts";
import type { Client } from "../client/client.ts";
import { MemberBatch } from "../client/member_batch.ts";
import { MemberFlow } from "../client/member_flow.ts";
import { type MemberLease, membershipOf } from "../job/batch.ts";
import type { Job } from "../job/job.ts";
import { mayHaveSteps } from "../job/step.ts";
import { LOG_LEVELS } from "../log/format.ts";
import type { Log, LogFields, LogLevel } from "../log/log.ts";
import { asText, mergeFields } from "../log/value.ts";
import { StepError } from "../steps/errors.ts";
import type { StepRunner } from "../steps/runner.ts";
import type { StepJob } from "../steps/services.ts";
import type { Transaction } from "../job/transaction.ts";
import type { JobContext, JobTrace, Progress } from "./context.ts";
import type { Registry } from "./registry.ts";
import { keptLine } from "./kept_line.ts";
import { RunningContext } from "./running_context.ts";
import type { StreamedJob, StreamWriter } from "./stream_writer.ts";

export interface RunningJobServices {
  readonly log: Log;
  readonly client: Client;
  readonly registry?: Pick<Registry, "get">;
  /** Creates the step runner of a job, for the token of its lease. */
  readonly stepRunner?: (job: StepJob, token: string) => StepRunner;
  /** Creates the writer of a job's stream, for the token of its lease. */
  readonly streamWriter?: (job: StreamedJob, token: string) => StreamWriter;
  /** The notice that the worker becomes quiet or stops. */
  readonly stopNotice?: { readonly signal: AbortSignal };
  /** Called at each progress report. */
  readonly onProgress?: (progress: Progress) => void;
}

/** Longer notes are truncated. */
const MAX_NOTE_LENGTH = 200;
/** This many of the latest lines are kept. */
const MAX_LINES = 20;

/** Ends jobs in transactions of the application: see {@linkcode JobContext.complete}. */
export interface Completer {
  /** @throws {LeaseLost} if another worker has the job now, or it has ended */
  complete(job: RunningJob, transaction: Transaction, result: unknown): Promise<void>;
}

/** A running job. Its costly parts are created when they are first used. */
export class RunningJob {
  readonly job: Job;
  /** The queue that the job was taken from. */
  readonly queue: string;
  readonly context: JobContext;
  /** The span that the job is performed in. */
  trace: JobTrace | undefined;
  /** The process ID of the isolated process or program that performs the job. */
  pid: number | undefined;
  /** The last lines that the program printed that performs the job, if it failed; undefined for other jobs. */
  output: readonly string[] | undefined;
  /** Ends the job in a transaction of the application. Absent if another process performs it, or the store takes part in none. */
  completer: Completer | undefined;
  readonly #services: RunningJobServices;
  /** Absent if the job cannot use steps. */
  readonly lease: MemberLease | undefined;
  #steps: StepRunner | undefined;
  #areStepsFinished = false;
  #hasEnded = false;
  #stream: StreamWriter | undefined;
  /** The signal of the worker's notice when the job started. */
  readonly #notice: AbortSignal | undefined;
  #stopping: AbortController | undefined;
  #forward: (() => void) | undefined;
  #controller: AbortController | undefined;
  #abort: { readonly reason: unknown; readonly at: number } | undefined;
  #log: Log | undefined;
  #progress: Progress | undefined;
  #lines: readonly string[] | undefined;
  #minLevel: LogLevel | undefined;

  /** @param lease its lease; absent if the job cannot use steps */
  constructor(job: Job, queue: string, services: RunningJobServices, lease?: MemberLease) {
    this.job = job;
    this.queue = queue;
    this.#services = services;
    this.lease = lease;
    this.#notice = services.stopNotice?.signal;
    this.context = new RunningContext(this);
  }

  get jid(): string {
    return this.job.jid;
  }

  /** The class whose handler performs the job. */
  get class(): string {
    return this.job.class;
  }

  /** The number of the attempt, from 1. */
  get attempt(): number {
    return this.job.attempt;
  }

  get client(): Client {
    return this.#services.client;
  }

  get batch(): MemberBatch | undefined {
    const batch = membershipOf(this.job.payload);
    if (batch?.counted === undefined) return undefined;
    const { client } = this;
    return new MemberBatch(batch.id, this.lease, { push: (job) => client.push(job), batches: client.batches });
  }

  get flow(): MemberFlow | undefined {
    const batch = membershipOf(this.job.payload);
    return batch?.node === undefined ? undefined : new MemberFlow(batch.id, batch.node, this.client.flows);
  }

  /** The durable step that runs; the last one of several. Steps of isolated processes aren't known here. */
  get step(): string | undefined {
    return this.#steps?.current;
  }

  /** The step runner; undefined until the handler uses a step. */
  get steps(): StepRunner | undefined {
    return this.#steps;
  }

  /** Returns the step runner. Creates it with the first step. */
  useSteps(): StepRunner {
    const { stepRunner } = this.#services;
    if (this.#areStepsFinished) throw new StepError("A step begins after its handler has ended; await each step");
    if (this.lease === undefined || stepRunner === undefined) {
      throw new TypeError("Steps need a worker that performs the job; in a test, use testJob");
    }
    return this.#steps ??= stepRunner(this, this.lease.token);
  }

  /** Returns the steps for its record, as JSON; undefined if there are none. A job without steps costs nothing. */
  stepHistory(): Promise<string | undefined> | undefined {
    const { stepRunner } = this.#services;
    if (this.#steps === undefined && !mayHaveSteps(this.job.payload)) return undefined;
    if (this.lease === undefined || stepRunner === undefined) return undefined;
    return (this.#steps ?? stepRunner(this, this.lease.token)).history();
  }

  /**
   * Prevents further steps, because the handler has ended. Code that it has left running would write them to a job that has
   * ended; in an isolated process to the next job.
   *
   * @returns a promise that resolves when the active steps have ended; undefined if none is active
   */
  finishSteps(): Promise<void> | undefined {
    this.#areStepsFinished = true;
    return this.#steps?.finish();
  }

  /** Whether this attempt may have left steps or a stream in the store, which its end has to find. */
  get hasWritten(): boolean {
    return this.#steps?.hasWritten || this.#stream?.hasWritten || false;
  }

  /** Returns the writer of the job's stream. Creates it with the first chunk. */
  useStream(): StreamWriter {
    const { streamWriter } = this.#services;
    if (this.lease === undefined || streamWriter === undefined) {
      throw new TypeError("A stream needs a worker that performs the job; in a test, use testJob");
    }
    return this.#stream ??= streamWriter(this, this.lease.token);
  }

  /** Writes the rest of the stream, because the handler has ended. Undefined if the job has none. */
  finishStream(): Promise<void> | undefined {
    return this.#stream?.finish();
  }

  /**
   * See {@linkcode JobContext.stopping}. Each job has a signal: listeners on that of the worker would outlive their jobs, and so would
   * those on a signal by `AbortSignal.any`, which the runtime keeps while it has listeners.
   */
  get stopping(): AbortSignal {
    if (this.#stopping !== undefined) return this.#stopping.signal;
    const stopping = this.#stopping = new AbortController();
    const notice = this.#notice;
    const forward = () => stopping.abort(notice?.reason);
    if (notice?.aborted) forward();
    else if (!this.#hasEnded) {
      this.#forward = forward;
      notice?.addEventListener("abort", forward, { once: true });
    }
    return stopping.signal;
  }

  /** Forgets the worker, because the attempt has ended: {@linkcode stopping} doesn't abort any more. */
  end(): void {
    this.#hasEnded = true;
    if (this.#forward !== undefined) this.#notice?.removeEventListener("abort", this.#forward);
  }

  /** See {@linkcode JobContext.complete}. */
  async complete(transaction: Transaction, result: unknown): Promise<void> {
    if (this.completer === undefined) {
      throw new TypeError(
        "ctx.complete needs a store in the PostgreSQL database of the transaction, and a job that isn't isolated",
      );
    }
    await this.completer.complete(this, transaction, result);
  }

  /** Whether {@linkcode stopping} has aborted. Doesn't create that signal: it costs more than the rest of a small job. */
  get isStopping(): boolean {
    return this.#notice?.aborted ?? false;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#abort && !this.#controller.signal.aborted) this.#controller.abort(this.#abort.reason);
    return this.#controller.signal;
  }

  /** Aborts {@linkcode signal}. The first reason counts. */
  abort(reason: unknown): void {
    this.#abort ??= { reason, at: systemClock.now() };
    this.#controller?.abort(reason);
  }

  /** The reason that {@linkcode signal} has aborted with. */
  get abortedBy(): unknown {
    return this.#abort?.reason;
  }

  /** When {@linkcode signal} has aborted, in epoch milliseconds. */
  get abortedAt(): number | undefined {
    return this.#abort?.at;
  }

  /** Throws the reason that {@linkcode signal} has aborted with, if it has. */
  throwIfAborted(): void {
    if (this.#abort) throw this.#abort.reason;
  }

  /** Returns whether lines of a level are logged for this job, by the `log_level` of the job or its class. */
  logs(level: LogLevel): boolean {
    this.#minLevel ??=
      firstLevel(this.job.payload["log_level"], this.#services.registry?.get(this.class)?.options["log_level"]) ??
        "debug";
    return isAtLeast(level, this.#minLevel);
  }

  get log(): Log {
    const { jid, class: name, queue, attempt } = this;
    this.#log ??= this.#remembering(
      this.#services.log.with({ class: name, jid, queue, attempt, ...traceFields(this) }),
    );
    return this.#log;
  }

  /** Records a progress report of the handler. */
  report(done: number, note?: string): void {
    // A JavaScript handler may pass any values. They are stored and shown.
    this.#progress = {
      done: typeof done === "number" ? done : Number(asText(done)),
      note: note === undefined ? undefined : asText(note).slice(0, MAX_NOTE_LENGTH),
    };
    this.#services.onProgress?.(this.#progress);
  }

  get progress(): Progress | undefined {
    return this.#progress;
  }

  /** The last line that its handler logged. */
  get lastLine(): string | undefined {
    return this.#lines?.at(-1);
  }

  /** The last lines that the handler logged, with their fields: at most 20, each of at most 500 bytes; undefined if it logged none. */
  get lastLines(): readonly string[] | undefined {
    return this.#lines;
  }

  /** @param bound the fields of `log` in addition to those of the job */
  #remembering(log: Log, bound: LogFields = {}): Log {
    const write = (level: "debug" | "info" | "warn" | "error"): Log[typeof level] => (message, fields) => {
      if (!this.logs(level)) return;
      const text = asText(message);
      this.#lines = [...(this.#lines ?? []).slice(1 - MAX_LINES), keptLine(level, text, bound, fields)];
      log[level](text, fields);
    };
    return {
      debug: write("debug"),
      info: write("info"),
      warn: write("warn"),
      error: write("error"),
      enabled: (level) => this.logs(level) && log.enabled(level),
      with: (fields) => this.#remembering(log.with(fields), mergeFields(bound, fields)),
    };
  }
}

/** Returns the log fields of a job's span, with OpenTelemetry's names. */
export function traceFields(
  { trace }: Pick<RunningJob, "trace">,
): { readonly trace_id?: string; readonly span_id?: string } {
  return trace === undefined ? {} : { trace_id: trace.traceId, span_id: trace.spanId };
}

/** Returns the first valid level; undefined if none is valid. A job's level never shows lines that the level of the worker hides. */
function firstLevel(...candidates: readonly unknown[]): LogLevel | undefined {
  return candidates.find((one): one is LogLevel => LOG_LEVELS.includes(one as LogLevel));
}

/** Returns whether `level` is at least `minLevel`. */
function isAtLeast(level: LogLevel, minLevel: LogLevel): boolean {
  return LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(minLevel);
}
