/**
 * A processor: takes a job, performs it, settles it. One async task that performs one job at a time.
 *
 * Where the job is at each await: until its outcome is stored it is a lease of this process. If the process dies, the
 * lease is rescued and the job runs again.
 *
 * @module
 */
import type { Client } from "../../client/client.ts";
import type { Clock } from "../../clock.ts";
import { JobContext, traceFields } from "../../handlers/context.ts";
import type { PerformMiddleware } from "../../handlers/handler.ts";
import type { Registry } from "../../handlers/registry.ts";
import { Cancelled, HandlerMissing, LeaseLost, Timeout } from "../../job/errors.ts";
import { isExpired } from "../../job/time.ts";
import { type Job, lockOf, parsePayload } from "../../job/job.ts";
import { readWireTime } from "../../job/raw.ts";
import type { Log } from "../../log/log.ts";
import { compose } from "../../client/middleware.ts";
import type { Lease } from "../../store/port/jobs.ts";
import type { Timeouts } from "./timeouts.ts";
import type { Fetcher } from "./fetcher.ts";
import { logJob } from "./job_log.ts";
import type { UnhandledErrors } from "./unhandled_errors.ts";
import type { ResultRecorder } from "./result_recorder.ts";
import type { Retrier, TryOutcome } from "./retrier.ts";
import type { Service } from "../service.ts";
import type { Settler } from "./settler.ts";
import type { Task, Tasks } from "../control/tasks.ts";
import type { ClassCounters, Ending } from "../stats/class_counters.ts";

/** What processors share. */
export interface ProcessorServices {
  readonly clock: Clock;
  readonly tasks: Tasks;
  readonly fetcher: Fetcher;
  readonly settler: Pick<Settler, "add">;
  readonly retrier: Retrier;
  readonly registry: Registry;
  readonly timeouts: Timeouts;
  readonly classCounters: ClassCounters;
  readonly results: ResultRecorder;
  readonly unhandledErrors: UnhandledErrors;
  readonly client: Client;
  readonly middleware: readonly PerformMiddleware[];
  readonly log: Log;
}

/** A job being performed. */
export interface Running {
  readonly lease: Lease;
  readonly context: JobContext;
  /** When it started, on the monotonic clock. */
  readonly since: number;
}

/** Performs jobs until stopped. Its task is `processor-N`. */
export class Processor implements Service {
  readonly name: string;
  readonly #services: ProcessorServices;
  readonly #perform: (context: JobContext, job: Job) => unknown;
  readonly #stop = new AbortController();
  #task: Task | undefined;
  #running: Running | undefined;
  /** Aborts when the running job has ended, where somebody wants to know. */
  #ended: AbortController | undefined;
  #loop: Promise<void> | undefined;

  constructor(number: number, services: ProcessorServices, kind = "processor") {
    this.name = `${kind}-${number}`;
    this.#services = services;
    const call = (context: JobContext, job: Job) => this.#callHandler(context, job);
    const chain = services.middleware.length === 0 ? undefined : compose(services.middleware);
    this.#perform = chain ? (context, job) => chain(context, () => Promise.resolve(call(context, job))) : call;
  }

  /** Its label in the dump. */
  get label(): string {
    return this.name;
  }

  /** What it performs now. */
  get running(): Running | undefined {
    return this.#running;
  }

  /** The token of the lease that it works on; undefined when it has none, or none any more. */
  get token(): string | undefined {
    return this.#running?.lease.token || undefined;
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  /** Ends after the job under way; resolves when it has. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
  }

  /**
   * Lets go of its unfinished job; what the handler does after that no longer counts. It is given back to the front of its
   * queue, but for one that should have ended (it was cancelled, or its time was over) and did not listen: that is what
   * became of it. It would only hang again, at every start anew, and never count as a failure.
   *
   * @returns whether it was given back
   */
  async release(): Promise<boolean> {
    if (this.token === undefined) return false;
    const { lease, context, since } = this.#running!;
    const { clock, results, retrier, settler, classCounters } = this.#services;
    this.#disown();
    const { abortedBy } = context;
    if (!shouldHaveEnded(abortedBy)) {
      settler.add({ kind: "release", token: lease.token });
      return true;
    }
    const elapsed = clock.monotonic() - since;
    const outcome = await retrier.outcome(lease, parsePayload(lease.payload)!, context, abortedBy);
    settler.add(results.failed(outcome, context, abortedBy, since));
    classCounters.add(context.class, abortedBy instanceof Cancelled ? "cancelled" : ENDINGS[outcome.kind], elapsed);
    return false;
  }

  /** Its job is another's now: aborts it; what the handler does after that no longer counts. */
  lose(reason: Error): void {
    this.#disown();
    this.abort(reason);
  }

  /** Aborts the job that it performs; the outcome is then the reason's. */
  abort(reason: Error): void {
    if (!this.#running) return;
    this.#ended ??= new AbortController();
    void this.#services.timeouts.abort(this.#running.context, reason, this.#ended.signal);
  }

  /** Performs one job and settles it. Never rejects. */
  async step(lease: Lease): Promise<void> {
    const job = parsePayload(lease.payload);
    if (job === undefined) {
      this.#services.log.error("Unreadable payload, moved to dead as it is", { queue: lease.queue });
      this.#services.settler.add({ kind: "bury", token: lease.token, payload: lease.payload });
      return;
    }
    const context = new JobContext({ ...job, queue: lease.queue }, this.#services);
    if (isExpired(job.payload, this.#services.clock.now())) return this.#drop(lease, job, context);
    const since = this.#begin(lease, context);
    let outcome: TryOutcome | undefined;
    try {
      const result = await this.#perform(context, job);
      context.throwIfAborted();
      const record = this.#services.results.done(context, result, since);
      outcome = { kind: "ack", token: lease.token, ...lockOf(job), ...record };
    } catch (error) {
      if (!this.#givenBack) outcome = await this.#failed(lease, job, context.abortedBy ?? error, since);
    }
    this.#end(outcome, context, since);
  }

  async #failed(lease: Lease, job: Job, error: unknown, since: number): Promise<TryOutcome> {
    const { context } = this.#running!;
    const outcome = await this.#services.retrier.outcome(lease, job, context, error);
    return this.#services.results.failed(outcome, context, error, since);
  }

  /** It has not started in time. */
  #drop(lease: Lease, job: Job, context: JobContext): void {
    const { log, settler, classCounters } = this.#services;
    const { class: name, jid, queue } = context;
    logJob(context, log, "info", "Expired, dropped", () => ({ class: name, jid, queue }));
    classCounters.addUnstarted(job.class, "expired");
    const record = this.#services.results.unstarted(job, lease.queue, "expired");
    settler.add({ kind: "ack", token: lease.token, ...lockOf(job), ...record });
  }

  async #run(): Promise<void> {
    const { fetcher, tasks } = this.#services;
    const { signal } = this.#stop;
    this.#task = tasks.add(this.name);
    this.#task.rest();
    let lease = await fetcher.wait(signal);
    while (lease) {
      if (fetcher.begin(lease)) await this.step(lease);
      fetcher.ended(lease);
      lease = (signal.aborted ? undefined : fetcher.next()) ?? await fetcher.wait(signal);
    }
    tasks.remove(this.#task);
  }

  #callHandler(context: JobContext, job: Job): unknown {
    const handler = this.#services.registry.get(context.class);
    if (handler === undefined) throw new HandlerMissing(context.class, this.#services.registry.classes());
    const { timeout } = job.payload;
    const limitMs = typeof timeout === "number" && timeout > 0 ? timeout * 1_000 : handler.timeoutMs;
    const run = () => this.#services.unhandledErrors.run(context, () => handler.perform(context, ...job.args));
    return limitMs === undefined ? run() : this.#services.timeouts.within(limitMs, context, run);
  }

  #disown(): void {
    if (this.#running) this.#running = { ...this.#running, lease: { ...this.#running.lease, token: GIVEN_BACK } };
  }

  get #givenBack(): boolean {
    return this.#running?.lease.token === GIVEN_BACK;
  }

  #begin(lease: Lease, context: JobContext): number {
    const { clock, classCounters } = this.#services;
    const since = this.#task?.perform(context) ?? clock.monotonic();
    this.#running = { lease, context, since };
    const enqueuedAt = readWireTime(context.payload.enqueued_at);
    if (enqueuedAt !== undefined) classCounters.addWait(context.class, clock.now() - enqueuedAt);
    logJob(context, this.#services.log, "debug", "Start", () => this.#fields(context));
    return since;
  }

  #end(outcome: TryOutcome | undefined, context: JobContext, since: number): void {
    const { log, settler, classCounters, clock } = this.#services;
    const elapsed = (this.#task?.rest() ?? clock.monotonic()) - since;
    const givenBack = this.#givenBack;
    this.#running = undefined;
    this.#ended?.abort();
    this.#ended = undefined;
    if (givenBack || outcome === undefined) {
      // It was said to be when its job was let go.
      if (shouldHaveEnded(context.abortedBy)) return;
      const isLost = context.abortedBy instanceof LeaseLost;
      const what = isLost
        ? "Ended after it was lost; it counts where it runs again"
        : "Ended after it was given back; it runs again";
      return logJob(context, log, "info", what, () => ({ ...this.#fields(context), elapsedMs: round(elapsed) }));
    }
    settler.add(outcome);
    if (context.abortedBy instanceof Cancelled) return classCounters.add(context.class, "cancelled", elapsed);
    classCounters.add(context.class, ENDINGS[outcome.kind], elapsed);
    if (outcome.kind !== "ack") return;
    logJob(context, log, "info", "Done", () => ({ ...this.#fields(context), elapsedMs: round(elapsed) }));
  }

  #fields(context: JobContext): Record<string, unknown> {
    const { jid, queue, attempt } = context;
    return {
      task: this.name,
      class: context.class,
      jid,
      queue,
      ...(attempt > 1 && { attempt }),
      ...traceFields(context),
    };
  }
}

const ENDINGS: Readonly<Record<TryOutcome["kind"], Ending>> = {
  ack: "done",
  discard: "discarded",
  retry: "retried",
  snooze: "snoozed",
  bury: "dead",
};

/** Whether a job was asked to end for good, not to be run again later. */
function shouldHaveEnded(abortedBy: unknown): boolean {
  return abortedBy instanceof Cancelled || abortedBy instanceof Timeout;
}

/** Stands in for the token of a job that was given back or lost: it settles nothing any more. */
const GIVEN_BACK = "";

/** Milliseconds with a fraction worth reading. */
function round(ms: number): number {
  return ms < 10 ? Math.round(ms * 100) / 100 : Math.round(ms);
}
