/**
 * The handler's side of a running job, and what the rest of the worker reads of a job that it knows by its context.
 *
 * @module
 */
import type { MemberBatch } from "../client/member_batch.ts";
import type { MemberFlow } from "../client/member_flow.ts";
import type { Client } from "../client/client.ts";
import type { MemberLease } from "../job/batch.ts";
import type { Payload } from "../job/job.ts";
import { Discard, Kill, Snooze } from "../job/errors.ts";
import { type Occurrence, occurrenceOf } from "../job/occurrence.ts";
import type { Log } from "../log/log.ts";
import { StepMethods } from "../steps/context.ts";
import type { StepRunner } from "../steps/runner.ts";
import type { LeaseSteps } from "../steps/services.ts";
import type { Transaction } from "../job/transaction.ts";
import type { JobContext, JobTrace } from "./context.ts";
import type { RunningJob } from "./running_job.ts";
import type { LeaseStream } from "./stream_writer.ts";

/** The handler's side of a running job. */
export class RunningContext extends StepMethods implements JobContext {
  readonly jid: string;
  readonly class: string;
  readonly queue: string;
  readonly attempt: number;
  readonly payload: Payload;
  readonly raw: string;
  readonly #running: RunningJob;

  constructor(running: RunningJob) {
    super();
    const { job } = running;
    this.jid = job.jid;
    this.class = job.class;
    this.queue = running.queue;
    this.attempt = job.attempt;
    this.payload = job.payload;
    this.raw = job.raw;
    this.#running = running;
  }

  static stepRunner(context: JobContext): StepRunner {
    if (context instanceof RunningContext) return context.#running.useSteps();
    throw new TypeError("This context belongs to no running job");
  }

  static streamRelay(context: JobContext): LeaseStream {
    if (context instanceof RunningContext) return context.#running.useStream().relay;
    throw new TypeError("This context belongs to no running job");
  }

  static continueStream(context: JobContext, from: number): void {
    if (context instanceof RunningContext) context.#running.useStream().continueAfter(from);
  }

  static async finishStream(context: JobContext): Promise<void> {
    if (context instanceof RunningContext) await context.#running.finishStream();
  }

  static lease(context: JobContext): MemberLease | undefined {
    return context instanceof RunningContext ? context.#running.lease : undefined;
  }

  static setTrace(context: JobContext, trace: JobTrace): void {
    if (context instanceof RunningContext) context.#running.trace = trace;
  }

  static setProcess(context: JobContext, pid: number): void {
    if (context instanceof RunningContext) context.#running.pid = pid;
  }

  static setOutput(context: JobContext, output: readonly string[]): void {
    if (context instanceof RunningContext) context.#running.output = output;
  }

  get trace(): JobTrace | undefined {
    return this.#running.trace;
  }

  get signal(): AbortSignal {
    return this.#running.signal;
  }

  get stopping(): AbortSignal {
    return this.#running.stopping;
  }

  get log(): Log {
    return this.#running.log;
  }

  get occurrence(): Occurrence | undefined {
    return occurrenceOf(this.payload);
  }

  get client(): Client {
    return this.#running.client;
  }

  get batch(): MemberBatch | undefined {
    return this.#running.batch;
  }

  get flow(): MemberFlow | undefined {
    return this.#running.flow;
  }

  protected override steps(): StepRunner {
    return this.#running.useSteps();
  }

  progress(done: number, note?: string): void {
    this.#running.report(done, note);
  }

  discard(reason?: string): never {
    throw new Discard(reason);
  }

  kill(reason?: string): never {
    throw new Kill(reason);
  }

  snooze(delay: number | string): never {
    throw new Snooze(delay);
  }

  stream(chunk: unknown): Promise<void> {
    try {
      return this.#running.useStream().write(chunk);
    } catch (error) {
      // As for steps: a late call in the callback of a timer would end the program.
      return Promise.reject(error);
    }
  }

  throwIfAborted(): void {
    this.#running.throwIfAborted();
  }

  complete(transaction: Transaction, result?: unknown): Promise<void> {
    return this.#running.complete(transaction, result);
  }
}

/** Sets the span that a job is performed in, for the log and for the isolated process that performs it. */
export function setTrace(context: JobContext, trace: JobTrace): void {
  RunningContext.setTrace(context, trace);
}

/** Sets the process ID of the isolated process or program that performs a job, for the dump. */
export function setProcess(context: JobContext, pid: number): void {
  RunningContext.setProcess(context, pid);
}

/** Sets the last lines that the program printed that performs a job and has failed. */
export function setOutput(context: JobContext, output: readonly string[]): void {
  RunningContext.setOutput(context, output);
}

/** Returns the store of a job's steps, for its runner in an isolated process. */
export function stepRelay(context: JobContext): LeaseSteps {
  return stepRunnerOf(context).relay;
}

/** Returns the stream of a job, for its writer in an isolated process. */
export function streamRelay(context: JobContext): LeaseStream {
  return RunningContext.streamRelay(context);
}

/** Continues the stream of a job that another process has begun, after this many chunks. */
export function continueStream(context: JobContext, from: number): void {
  RunningContext.continueStream(context, from);
}

/** Writes the rest of the stream of a job that continues in another process. */
export function finishStream(context: JobContext): Promise<void> {
  return RunningContext.finishStream(context);
}

/** Returns the lease of a job, for its isolated process. */
export function leaseOf(context: JobContext): MemberLease | undefined {
  return RunningContext.lease(context);
}

/** Returns the step runner of a job, for the steps that a program runs. */
export function stepRunnerOf(context: JobContext): StepRunner {
  return RunningContext.stepRunner(context);
}
