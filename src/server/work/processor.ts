/**
 * The processor: takes a job, performs it, settles it. One async task that performs one job at a time.
 *
 * Where the job is at each await: until its outcome is stored, it is a lease of this worker. If the process dies, the
 * lease is rescued and the job runs again.
 *
 * `attempt.ts` defines when the outcome of an attempt counts.
 *
 * @module
 */
import { compose } from "../../client/middleware.ts";
import { RunningJob } from "../../handlers/running_job.ts";
import { readableError } from "../../job/describe_error.ts";
import { HandlerMissing, LeaseLost } from "../../job/errors.ts";
import { parsePayload } from "../../job/job.ts";
import { checkPerformable } from "../../job/performable.ts";
import { readWireTime } from "../../job/raw.ts";
import { readReturned } from "../../job/returned.ts";
import { isExpired } from "../../job/time.ts";
import { verdictOf } from "../../job/verdict.ts";
import { isReleased } from "../../steps/errors.ts";
import { type AttemptOutcome, outcomeOf } from "../../store/ops/outcome.ts";
import type { Lease } from "../../store/port/jobs.ts";
import type { Component } from "../component.ts";
import type { Task } from "../control/tasks.ts";
import type { Ending } from "../stats/counters.ts";
import { afterUnexpectedError, type Attempt, countMember, isCancelled, isShutDown, mustEnd } from "./attempt.ts";
import { jobFields, logJob } from "./job_log.ts";
import type { ProcessorServices } from "./processor_services.ts";
import { complete, hasCommitted, RolledBack } from "./completion.ts";
import type { Transaction } from "../../job/transaction.ts";
import type { Unstarted } from "./unstarted.ts";
import { endUnstarted } from "./unstarted_end.ts";

export class Processor implements Component {
  readonly name: string;
  readonly #services: ProcessorServices;
  readonly #perform: (running: RunningJob) => unknown;
  readonly #stop = new AbortController();
  #task: Task | undefined;
  #attempt: Attempt | undefined;
  /** Aborts when the current attempt has ended. Created only when an attempt is aborted. */
  #ended: AbortController | undefined;
  /** Resolves when the current attempt has ended. Created only for {@linkcode ended}. */
  #over: PromiseWithResolvers<void> | undefined;
  #loop: Promise<void> | undefined;

  constructor(number: number, services: ProcessorServices, kind = "processor") {
    this.name = `${kind}-${number}`;
    this.#services = services;
    const { clock, middleware } = services;
    const call = (running: RunningJob, calledAt = clock.monotonic()) => this.#callHandler(running, calledAt);
    const chain = middleware.length === 0 ? undefined : compose(middleware);
    this.#perform = chain
      ? (running) => chain(running.context, () => Promise.resolve(call(running)))
      // Without middleware, the attempt has begun just now: a reading of the clock takes 60 ns.
      : (running) => call(running, this.#task?.since);
  }

  /** The current attempt, also after its lease was released or lost. */
  get attempt(): Attempt | undefined {
    return this.#attempt;
  }

  /** The token of the current attempt's lease, while this worker holds it. */
  get token(): string | undefined {
    return this.#attempt?.leaseState === "held" ? this.#attempt.lease.token : undefined;
  }

  /** Resolves when the attempt under one of these leases has ended, and its outcome waits to be stored; undefined if it runs none. */
  ended(tokens: ReadonlySet<string>): Promise<void> | undefined {
    if (this.#attempt === undefined || !tokens.has(this.#attempt.lease.token)) return undefined;
    return (this.#over ??= Promise.withResolvers()).promise;
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  /** Ends the processor after the current job. Resolves when it has ended. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
  }

  /**
   * Returns the unfinished job to the front of its queue. If its handler ends later, the outcome is ignored.
   *
   * A job that was cancelled or has timed out is settled instead. Its handler ignores its signal: if the job were released, it
   * would hang again in every worker, and never count as a failure.
   */
  async release(): Promise<void> {
    const attempt = this.#attempt;
    if (attempt?.leaseState !== "held") return;
    const { lease, job, since } = attempt;
    if (!mustEnd(job)) {
      attempt.leaseState = "released";
      // At the shutdown timeout the manager returns all jobs together.
      // One that has ended in a transaction isn't returned: if that is rolled back, the lease ends with this worker.
      if (!isShutDown(job) && attempt.completed === undefined) {
        this.#services.settler.add({ kind: "release", token: lease.token, begun: true });
      }
      return;
    }
    // From here on, the handler's outcome is ignored, even while hooks run.
    attempt.leaseState = "settled";
    const elapsed = this.#services.clock.monotonic() - since;
    const outcome = await this.#failed(attempt, job.abortedBy);
    job.steps?.close();
    this.#settle(attempt, outcome, elapsed);
  }

  /** Aborts the job because another worker has it now. If its handler ends later, the outcome is ignored. */
  lose(reason: Error): void {
    // One that has ended in a transaction is no longer leased, rightly.
    if (this.#attempt?.leaseState !== "held" || this.#attempt.completed !== undefined) return;
    this.#attempt.leaseState = "lost";
    this.abort(reason);
  }

  /** Aborts the job. The reason becomes its outcome. */
  abort(reason: Error): void {
    if (!this.#attempt) return;
    this.#ended ??= new AbortController();
    void this.#services.timeouts.abort(this.#attempt.job, reason, this.#ended.signal);
  }

  /** Performs one job and settles it. Never rejects. Returns the milliseconds that it took. */
  async step(lease: Lease): Promise<number> {
    try {
      return await this.#step(lease);
    } catch (error) {
      return this.#end(this.#attempt, await afterUnexpectedError(lease, error, this.#services, this.#attempt?.job));
    }
  }

  /** Ends the current job in a transaction of the application. @throws {LeaseLost} if another worker has it now, or it has ended */
  async complete(job: RunningJob, transaction: Transaction, result: unknown): Promise<void> {
    const attempt = this.#attempt;
    if (attempt?.job !== job) throw new LeaseLost();
    await complete(attempt, transaction, async () => {
      const history = job.stepHistory();
      return this.#succeeded(attempt, result, history && await history);
    }, this.#services);
  }

  async #step(lease: Lease): Promise<number> {
    const job = parsePayload(lease.payload);
    if (job === undefined) {
      this.#services.log.error("Moved an unreadable payload to dead", { queue: lease.queue });
      this.#services.settler.add({ kind: "bury", token: lease.token, payload: lease.payload });
      return 0;
    }
    const counted = lease.cancelled ? job : countMember(lease, job, this.#services);
    // An await would cost a turn of the event loop, which most jobs don't need.
    const running = new RunningJob(
      counted instanceof Promise ? await counted : counted,
      lease.queue,
      this.#services,
      { worker: this.#services.worker, token: lease.token },
    );
    const now = this.#services.clock.now();
    if (lease.cancelled || isExpired(job.payload, now)) {
      await endUnstarted(lease.token, running, lease.cancelled ? "cancelled" : "expired", this.#services);
      return 0;
    }
    const attempt = this.#begin(lease, running, now);
    // Not a closure for each job: that costs 5 % of a small one.
    if (this.#services.transactions !== undefined) running.completer = this;
    let result: unknown;
    let hasReturned = false;
    try {
      result = await this.#perform(running);
      hasReturned = true;
      const active = running.finishSteps();
      if (active !== undefined) await active;
      const streaming = running.finishStream();
      if (streaming !== undefined) await streaming;
      if (attempt.completed !== undefined) {
        if (await hasCommitted(attempt, this.#services)) return this.#end(attempt, attempt.completed);
        throw new RolledBack();
      }
      if (!isShutDown(running)) running.throwIfAborted();
      running.steps?.throwIfEnding();
    } catch (error) {
      if (attempt.completed !== undefined && await hasCommitted(attempt, this.#services)) {
        return this.#end(attempt, attempt.completed);
      }
      delete attempt.completed;
      const thrown = readableError(error);
      attempt.hasGivenUp = !hasReturned && thrown instanceof LeaseLost;
      return this.#end(attempt, await this.#thrown(attempt, thrown));
    }
    const history = running.stepHistory();
    return this.#end(attempt, this.#succeeded(attempt, result, history && await history));
  }

  /** Returns the outcome of an attempt that succeeded. Not within its `try`: an error here isn't one of the handler. */
  #succeeded({ lease, job, since }: Attempt, result: unknown, steps: string | undefined): AttemptOutcome {
    const { results, listener } = this.#services;
    job.steps?.close();
    const returned = readReturned(result);
    return outcomeOf(lease.token, job.job, { kind: "ack", as: "succeeded" }, {
      returned,
      record: results.succeeded(job, returned, { since, steps }),
      hasWritten: job.hasWritten,
      nodeResult: () => results.ofNode(job, returned),
      listener,
    });
  }

  /** Returns the outcome of an attempt that threw; undefined if it is ignored, or the job was released. */
  async #thrown(attempt: Attempt, error: unknown): Promise<AttemptOutcome | undefined> {
    const { job } = attempt;
    await job.finishSteps();
    await job.finishStream();
    // If the store rejects a step, the job is aborted; if it fails, the step runs again.
    if (attempt.leaseState === "held") await job.steps?.store().catch(() => {});
    if (attempt.leaseState !== "held") return undefined;
    const isInterrupted = isShutDown(job);
    const reason = (isInterrupted ? undefined : job.abortedBy) ?? job.steps?.ending ?? error;
    if (job.abortedBy instanceof LeaseLost) {
      // The store rejected a step, because another worker has the job. A handler that throws the error by itself has failed.
      attempt.leaseState = "lost";
      return undefined;
    }
    // An error after the shutdown timeout isn't a failure of the job. A decision of the handler counts.
    if (isReleased(reason) || (isInterrupted && verdictOf(reason) === undefined)) {
      await this.release();
      return undefined;
    }
    const outcome = await this.#failed(attempt, reason);
    job.steps?.close();
    return outcome;
  }

  async #failed({ lease, job, since }: Attempt, error: unknown): Promise<AttemptOutcome> {
    const { retrier, results, listener } = this.#services;
    const end = await retrier.end(job, error, { since });
    const steps = end.kind === "retry" || end.kind === "snooze" ? undefined : await job.stepHistory();
    const record = results.failed(end, job, error, { since, steps });
    return outcomeOf(lease.token, job.job, end, { error, record, hasWritten: job.hasWritten, listener });
  }

  async #run(): Promise<void> {
    const { buffer, tasks, loopShare } = this.#services;
    const { signal } = this.#stop;
    this.#task = tasks.add(this.name);
    this.#task.rest();
    let lease = await this.#wait();
    while (lease) {
      const ranMs = buffer.begin(lease) ? await this.step(lease) : 0;
      buffer.ended(lease);
      const share = loopShare.pass();
      if (share !== undefined) await share;
      lease = (signal.aborted ? undefined : buffer.next(ranMs)) ?? await this.#wait();
    }
    tasks.remove(this.#task);
  }

  async #wait(): Promise<Unstarted | undefined> {
    const { buffer, loopShare } = this.#services;
    const job = await buffer.wait(this.#stop.signal);
    // Other processors get jobs in the same turn.
    const share = loopShare.pass();
    if (share !== undefined) await share;
    return job;
  }

  /** @param calledAt when the handler is called, on the monotonic clock */
  #callHandler(running: RunningJob, calledAt: number): unknown {
    const { clock, loopShare, registry, timeouts, unhandledErrors } = this.#services;
    checkPerformable(running.job);
    const handler = registry.get(running.class);
    if (handler === undefined) throw new HandlerMissing(running.class, registry.classes());
    const { context, job } = running;
    const { timeout } = job.payload;
    const limitMs = typeof timeout === "number" && timeout > 0 ? timeout * 1_000 : handler.timeoutMs;
    const run = () =>
      unhandledErrors.run(running, () => {
        this.#task?.calling(true);
        try {
          return handler.perform(context, ...job.args);
        } finally {
          this.#task?.calling(false);
          loopShare.held(clock.monotonic() - calledAt);
        }
      });
    return limitMs === undefined ? run() : timeouts.within(limitMs, running, run);
  }

  #begin(lease: Lease, job: RunningJob, now: number): Attempt {
    const { clock, classCounters, log } = this.#services;
    const begun = this.#task?.perform(job) ?? clock.monotonic();
    const since = lease.since === undefined ? begun : begun - Math.max(0, now - lease.since);
    const attempt: Attempt = this.#attempt = { lease, job, since, leaseState: "held" };
    const enqueuedAt = readWireTime(job.job.payload.enqueued_at);
    if (enqueuedAt !== undefined) classCounters.addWait(job.class, now - enqueuedAt);
    logJob(job, log, "debug", "Start", () => jobFields(this.name, job));
    return attempt;
  }

  /** Ends an attempt. Its outcome counts if this worker still holds the lease. Returns the milliseconds that it took. */
  #end(attempt: Attempt | undefined, outcome: AttemptOutcome | undefined): number {
    const { log, clock, settler } = this.#services;
    const now = this.#task?.rest() ?? clock.monotonic();
    if (attempt === undefined) {
      // It failed before it began.
      if (outcome !== undefined) settler.add(outcome);
      return 0;
    }
    const { job, since } = attempt;
    const elapsed = now - since;
    this.#attempt = undefined;
    job.end();
    this.#ended?.abort();
    this.#ended = undefined;
    this.#over?.resolve();
    this.#over = undefined;
    if (attempt.leaseState === "settled") return elapsed;
    const fields = () => jobFields(this.name, job, elapsed);
    // The manager returns it, and logs that.
    if (attempt.leaseState === "released" && isShutDown(job)) return elapsed;
    if (attempt.leaseState !== "held" || outcome === undefined) {
      const isLost = attempt.leaseState === "lost";
      const message = isLost
        ? attempt.hasGivenUp
          ? "Stopped after losing its lease: the job runs again"
          : "Finished after losing its lease: result ignored, the job runs again"
        : "Finished after it was released: result ignored, the job runs again";
      logJob(job, log, "info", message, fields);
      return elapsed;
    }
    attempt.leaseState = "settled";
    this.#settle(attempt, outcome, elapsed);
    if (outcome.kind === "ack" && !isCancelled(job)) logJob(job, log, "info", "Done", fields);
    return elapsed;
  }

  /** Settles and counts an attempt. Its lease state is already `settled`. */
  #settle({ job, completed }: Attempt, outcome: AttemptOutcome, elapsed: number): void {
    const { settler, classCounters } = this.#services;
    if (outcome !== completed) settler.add(outcome);
    const ending = isCancelled(job) ? "cancelled" : ENDINGS[outcome.kind];
    classCounters.add(job.class, ending, elapsed);
  }
}

const ENDINGS: Readonly<Record<AttemptOutcome["kind"], Ending>> = {
  ack: "succeeded",
  discard: "discarded",
  retry: "retried",
  snooze: "snoozed",
  aside: "unhandled",
  bury: "dead",
};
