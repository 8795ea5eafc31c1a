/**
 * The manager: owns the processors, and ends them.
 *
 *  1. `resize` keeps as many processors as the concurrency. A surplus processor ends after its job.
 *  2. `stop` waits for running jobs until the deadline. Then it aborts the unfinished ones. If their handlers end within 2 s,
 *     the outcomes count: a job that has pushed its continuation and returned must not run again. After that, the other
 *     jobs return to the front of their queues, in the order in which they were taken. If the process is killed during the
 *     stop, their leases are rescued. If a handler blocks the event loop, `liveness/stop_guard.ts` ends the process.
 *
 * @module
 */
import { progressText } from "../../job/progress.ts";
import { abridged } from "../../job/abridged.ts";
import type { Clock } from "../../clock.ts";
import { RunningJob } from "../../handlers/running_job.ts";
import { Cancelled, Shutdown } from "../../job/errors.ts";
import { parsePayload } from "../../job/job.ts";
import type { Log } from "../../log/log.ts";
import type { Lease } from "../../store/port/jobs.ts";
import type { JobReport, RunningJobRecord } from "../../store/port/workers.ts";
import { CLEAN_UP_MS, OUTCOMES_SHARE, ShutdownBudget } from "../component.ts";
import type { Attempt } from "./attempt.ts";
import { Processor } from "./processor.ts";
import type { ProcessorServices } from "./processor_services.ts";
import type { Settler } from "./settler.ts";
import { endUnstarted } from "./unstarted_end.ts";

export class Manager {
  readonly #services: ProcessorServices;
  readonly #settler: Settler;
  readonly #clock: Clock;
  readonly #log: Log;
  #processors: Processor[] = [];
  /** Surplus processors, which end after their job. */
  readonly #leaving = new Set<Processor>();
  readonly #abridged = new WeakMap<Lease, string>();
  #concurrency: number;

  constructor(services: ProcessorServices & { readonly settler: Settler }, options: { concurrency: number; log: Log }) {
    this.#services = services;
    this.#settler = services.settler;
    this.#clock = services.clock;
    this.#log = options.log;
    this.#concurrency = options.concurrency;
  }

  get concurrency(): number {
    return this.#concurrency;
  }

  get busy(): number {
    return this.#all().reduce((count, processor) => count + (processor.attempt ? 1 : 0), 0);
  }

  /** Describes the running jobs for the heartbeat, which other processes read. */
  running(): RunningJobRecord[] {
    const now = this.#clock.now();
    const monotonic = this.#clock.monotonic();
    return this.#all().flatMap(({ name, attempt }) =>
      attempt
        ? [{
          task: name,
          queue: attempt.lease.queue,
          payload: this.#abridge(attempt.lease),
          since: now - (monotonic - attempt.since),
          ...reportOf(attempt.job),
        }]
        : []
    );
  }

  /** Shortens a payload for display. Once per job: a large one takes milliseconds. */
  #abridge(lease: Lease): string {
    let payload = this.#abridged.get(lease);
    if (payload === undefined) this.#abridged.set(lease, payload = abridged(lease.payload));
    return payload;
  }

  /** The tokens of running jobs whose leases this worker holds. */
  get tokens(): string[] {
    return this.#all().flatMap(({ token }) => token ?? []);
  }

  /** Resolves when the attempts under these leases have ended, and their outcomes wait to be stored. */
  async ended(tokens: ReadonlySet<string>): Promise<void> {
    await Promise.all(this.#all().flatMap((processor) => processor.ended(tokens) ?? []));
  }

  /** Aborts jobs that another worker has now. Returns their jids. */
  lose(tokens: ReadonlySet<string>, reason: Error): string[] {
    const losing = this.#all().filter(({ token }) => token !== undefined && tokens.has(token));
    const jids = losing.flatMap(({ attempt }) => attempt?.job.jid ?? []);
    for (const processor of losing) processor.lose(reason);
    return jids;
  }

  start(): void {
    this.resize(this.#concurrency);
  }

  resize(concurrency: number): void {
    this.#concurrency = concurrency;
    while (this.#processors.length < concurrency) {
      const processor = new Processor(this.#processors.length + 1, this.#services);
      this.#processors.push(processor);
      processor.start();
    }
    for (const processor of this.#processors.splice(concurrency)) {
      this.#leaving.add(processor);
      void processor.stop().then(() => this.#leaving.delete(processor));
    }
  }

  /**
   * Cancels a job: one that has not started is settled, a running one is aborted.
   *
   * @returns false if this worker doesn't have the job
   */
  cancel(jid: string): boolean {
    const lease = this.#services.buffer.withdraw(jid);
    const job = lease && parsePayload(lease.payload);
    if (job) {
      const running = new RunningJob(job, lease.queue, this.#services, {
        worker: this.#services.worker,
        token: lease.token,
      });
      void endUnstarted(lease.token, running, "cancelled", this.#services);
    }
    const processors = this.#all().filter(({ attempt }) => attempt?.job.jid === jid);
    for (const processor of processors) processor.abort(new Cancelled());
    return lease !== undefined || processors.length > 0;
  }

  /** Notes what an endpoint reports about a running job. Does nothing if this worker no longer has the lease. */
  report(lease: string, { progress, log = [] }: JobReport): void {
    const job = this.#all().find(({ token }) => token === lease)?.attempt?.job;
    if (job === undefined) return;
    if (progress) job.report(progress.done, progress.note);
    for (const { level, message, fields } of log) job.log[level](message, fields);
  }

  /**
   * Ends all processors. The fetcher must be quiet before.
   *
   * @param timeoutMs the time that running jobs have to end
   * @param cold aborts when running jobs must end at once (a cold stop)
   * @param budget the time that the store has to reply
   */
  async stop(timeoutMs = 0, cold = AbortSignal.abort(), budget = new ShutdownBudget(this.#clock)): Promise<void> {
    const idle = Promise.all(this.#all().map((processor) => processor.stop())).then(() => true);
    if (!await this.#within(idle, timeoutMs, cold)) {
      const working = this.#all().filter(({ attempt }) => attempt?.leaseState === "held");
      const attempts = working.map(({ name, attempt }) => ({ name, attempt: attempt! }))
        .sort((a, b) => a.attempt.since - b.attempt.since);
      for (const { attempt } of attempts) attempt.job.abort(new Shutdown("The worker's shutdown timeout has expired"));
      const haveEnded = await this.#within(idle, cold.aborted ? 0 : CLEAN_UP_MS, cold);
      // A job whose hook hangs stays leased, and is rescued.
      if (!haveEnded) await budget.within(Promise.all(working.map((one) => one.release())), OUTCOMES_SHARE);
      const released = attempts.filter(({ attempt }) => attempt.leaseState === "released");
      // Together, so that they keep their order.
      for (const { attempt } of released) {
        this.#settler.add({ kind: "release", token: attempt.lease.token, begun: true });
      }
      const isStored = await this.#flush(budget);
      for (const { name, attempt } of released) this.#logReleased(name, attempt, isStored);
    }
    await this.#flush(budget);
  }

  #logReleased(processor: string, { job, since }: Attempt, isStored: boolean): void {
    const { class: name, jid, queue, attempt } = job;
    const isRunning = this.#all().some((one) => one.attempt?.job === job);
    const fields = {
      ...{ class: name, jid, queue, attempt, processor },
      ranMs: Math.round(this.#clock.monotonic() - since),
      ...(isRunning && { handler: "still running" }),
    };
    if (!job.logs("warn")) return;
    if (isStored) this.#log.warn("Returned an unfinished job", fields);
    else this.#log.warn("Unfinished job not returned: it runs again when this worker is offline", fields);
  }

  #all(): Processor[] {
    return [...this.#processors, ...this.#leaving];
  }

  /** Returns whether every outcome is stored. */
  async #flush(budget: ShutdownBudget): Promise<boolean> {
    if (await budget.within(this.#settler.flush(), OUTCOMES_SHARE)) return this.#settler.unsettled === 0;
    this.#settler.abandon();
    return false;
  }

  /** Resolves with true if the event happens within the time, and before a cold stop. */
  async #within(event: Promise<boolean>, ms: number, cold: AbortSignal): Promise<boolean> {
    const over = new AbortController();
    const end = () => over.abort();
    cold.addEventListener("abort", end, { once: true });
    if (cold.aborted) end();
    const happened = await Promise.race([event, this.#clock.sleep(ms, over.signal).then(() => false)]);
    cold.removeEventListener("abort", end);
    end();
    return happened;
  }
}

/** The reports of a job's handler. */
function reportOf(
  { progress, lastLine, lastLines, abortedBy, abortedAt }: RunningJob,
): Pick<RunningJobRecord, "progress" | "lastLine" | "log" | "abortReason" | "abortedAt"> {
  return {
    ...(progress && { progress: progressText(progress) }),
    ...(lastLine !== undefined && { lastLine }),
    ...(lastLines !== undefined && { log: lastLines }),
    ...(abortedBy instanceof Error && { abortReason: abortedBy.name }),
    ...(abortedAt !== undefined && { abortedAt }),
  };
}
