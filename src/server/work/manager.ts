/**
 * The manager: owns the processors, and ends them.
 *
 *  1. `resize` keeps as many processors as the concurrency says; one too many ends after its job.
 *  2. `stop` waits for running jobs until the deadline. Then it gives the unfinished ones back to the front of their
 *     queues *first*, and aborts them after: whatever the abort leads to, each job is already safe.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { JobContext } from "../../handlers/context.ts";
import { Cancelled, Shutdown } from "../../job/errors.ts";
import { abridged } from "../../job/abridged.ts";
import { parsePayload } from "../../job/job.ts";
import type { Log } from "../../log/log.ts";
import type { Lease, RunningJob } from "../../store/port/jobs.ts";
import { OUTCOMES_SHARE, ShutdownBudget } from "../shutdown_budget.ts";
import { Processor, type ProcessorServices } from "./processor.ts";
import type { Service } from "../service.ts";
import type { Settler } from "./settler.ts";

/** Handlers that listen to their signal get so long to clean up after it aborted. */
const CLEAN_UP_MS = 3_000;

/** Owns the processors. */
export class Manager implements Service {
  readonly name = "manager";
  readonly #services: ProcessorServices;
  readonly #settler: Settler;
  readonly #clock: Clock;
  readonly #log: Log;
  #processors: Processor[] = [];
  /** Processors that end after their job. */
  readonly #leaving = new Set<Processor>();
  readonly #payloads = new WeakMap<Lease, string>();
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

  /** Jobs running now. */
  get busy(): number {
    return this.#all().reduce((count, processor) => count + (processor.running ? 1 : 0), 0);
  }

  /** What runs now, as others may read it. */
  running(): RunningJob[] {
    const now = this.#clock.now();
    const monotonic = this.#clock.monotonic();
    return this.#all().flatMap(({ label, running }) =>
      running
        ? [{
          task: label,
          queue: running.lease.queue,
          payload: this.#shown(running.lease),
          since: now - (monotonic - running.since),
          ...saidBy(running.context),
        }]
        : []
    );
  }

  /** The payload with the running job. Made once: a large one takes milliseconds. */
  #shown(lease: Lease): string {
    let payload = this.#payloads.get(lease);
    if (payload === undefined) this.#payloads.set(lease, payload = abridged(lease.payload));
    return payload;
  }

  /** The tokens of the leases whose jobs run. */
  get tokens(): string[] {
    return this.#all().flatMap(({ token }) => token ?? []);
  }

  /** Aborts those jobs that are another process's now; their outcome does not count. */
  lose(tokens: ReadonlySet<string>, reason: Error): string[] {
    const losing = this.#all().filter(({ token }) => token !== undefined && tokens.has(token));
    const jids = losing.flatMap(({ running }) => running?.context.jid ?? []);
    for (const processor of losing) processor.lose(reason);
    return jids;
  }

  start(): void {
    this.resize(this.#concurrency);
  }

  /** Keeps so many processors from now on. */
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
   * Cancels a job: one that waits here is settled, one that runs is aborted.
   *
   * @returns false when it is not here any more
   */
  cancel(jid: string): boolean {
    const waiting = this.#services.fetcher.withdraw(jid);
    const job = waiting && parsePayload(waiting.payload);
    if (job) {
      const record = this.#services.results.unstarted(job, waiting.queue, "cancelled");
      const context = new JobContext({ ...job, queue: waiting.queue }, this.#services);
      this.#settler.add({ ...this.#services.retrier.cancelled(waiting, job, context), ...record });
      this.#services.classCounters.addUnstarted(job.class, "cancelled");
    }
    const processors = this.#all().filter(({ running }) => running?.context.jid === jid);
    for (const processor of processors) processor.abort(new Cancelled());
    return waiting !== undefined || processors.length > 0;
  }

  /**
   * Ends all processors. The fetcher must be quiet before.
   *
   * @param timeoutMs how long running jobs may go on
   * @param cold aborts when it is to end at once
   * @param budget how long the store is waited for
   */
  async stop(timeoutMs = 0, cold = AbortSignal.abort(), budget = new ShutdownBudget(this.#clock)): Promise<void> {
    const idle = Promise.all(this.#all().map((processor) => processor.stop())).then(() => true);
    if (!await this.#within(idle, timeoutMs, cold)) {
      await this.#giveBack(budget);
      for (const { running } of this.#all()) running?.context.abort(new Shutdown("The server stops"));
      if (!await this.#within(idle, cold.aborted ? 0 : CLEAN_UP_MS, cold)) {
        this.#log.warn("Handlers did not end when aborted; left behind", { count: this.busy });
      }
    }
    await this.#settleRest(budget);
  }

  #all(): Processor[] {
    return [...this.#processors, ...this.#leaving];
  }

  async #giveBack(budget: ShutdownBudget): Promise<void> {
    let count = 0;
    const letting = this.#all().map(async (processor) => {
      if (await processor.release()) count++;
    });
    // What hangs in a hook of theirs is left to the rescuer.
    await budget.within(Promise.all(letting), OUTCOMES_SHARE);
    if (count > 0) this.#log.warn("Giving unfinished jobs back", { count });
    await this.#settleRest(budget);
  }

  async #settleRest(budget: ShutdownBudget): Promise<void> {
    if (!await budget.within(this.#settler.flush(), OUTCOMES_SHARE)) this.#settler.abandon();
  }

  /** Whether it happens within the time, and before `cold` aborts. */
  async #within(event: Promise<boolean>, ms: number, cold?: AbortSignal): Promise<boolean> {
    const over = new AbortController();
    const end = () => over.abort();
    cold?.addEventListener("abort", end, { once: true });
    if (cold?.aborted) end();
    const happened = await Promise.race([event, this.#clock.sleep(ms, over.signal).then(() => false)]);
    cold?.removeEventListener("abort", end);
    end();
    return happened;
  }
}

/** What a job says of itself. */
function saidBy({ lastProgress, lastLine, lastLines }: JobContext): Pick<RunningJob, "progress" | "lastLine" | "log"> {
  return {
    ...(lastProgress &&
      { progress: [lastProgress.done, lastProgress.note].filter((one) => one !== undefined).join(" ") }),
    ...(lastLine !== undefined && { lastLine }),
    ...(lastLines !== undefined && { log: lastLines }),
  };
}
