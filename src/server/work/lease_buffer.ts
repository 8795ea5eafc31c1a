/**
 * The lease buffer: holds the jobs that this worker has taken and not started, and hands them to its processors in order.
 * The fetcher fills it.
 *
 *  1. A processor without a job waits in line: the one that has waited longest is served first.
 *  2. Nothing is handed out while this worker may have been offline (`lease_guard.ts`), while a suspect must run alone
 *     (`suspects.ts`), or while a request to the store is being sent.
 *
 * If the process dies, every job in here is a lease in the store, and is rescued.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { setFields } from "../../job/raw.ts";
import type { Lease } from "../../store/port/jobs.ts";
import type { Outcome } from "../../store/port/outcomes.ts";
import type { LeaseGuard } from "./lease_guard.ts";
import type { Settler } from "./settler.ts";
import type { Suspects } from "./suspects.ts";
import { type Unstarted, UnstartedJobs } from "./unstarted.ts";

/** Jobs that have waited for this long are stale. */
export const STALE_MS = 1_000;

export interface LeaseBufferOptions {
  readonly clock: Clock;
  readonly settler: Pick<Settler, "add">;
  readonly leaseGuard: Pick<LeaseGuard, "isSure">;
  /** Decides when a job may start. Default: at once. */
  readonly suspects?: Suspects | undefined;
  /** Holds the jobs. Default: not shared with the heartbeat's thread. */
  readonly unstarted?: UnstartedJobs | undefined;
  /** Called when a processor has finished a job that took this time. */
  readonly onFinished: (ranMs: number) => void;
  /** Called when a job was handed out. */
  readonly onHandedOut: () => void;
  /** Called when a processor begins to wait for a job. */
  readonly onIdle: () => void;
  /** Called when leases may have been lost: {@linkcode LeaseBuffer.confirm} must follow. */
  readonly onUnsure: () => void;
  /** Called when a job was released instead of handed out. */
  readonly onReleased: () => void;
}

export class LeaseBuffer {
  readonly #options: LeaseBufferOptions;
  readonly #jobs: UnstartedJobs;
  /** Processors that wait for a job, the one that has waited longest first. */
  #idle: ((job: Unstarted | undefined) => void)[] = [];
  /** When jobs were last added, on the monotonic clock. */
  #filledAt = 0;
  /** Whether a request is being sent. Then nothing is handed out. */
  #isHolding = false;
  /** Whether leases may have been lost. Then nothing is handed out. */
  #isUnsure = false;

  constructor(options: LeaseBufferOptions) {
    this.#options = options;
    this.#jobs = options.unstarted ?? new UnstartedJobs();
    if (options.suspects) options.suspects.onChange = () => this.#serve();
  }

  /** Number of jobs that wait to be handed out. */
  get size(): number {
    return this.#jobs.size;
  }

  /** Number of jobs that have not started: those that wait, are about to start, or are being returned by the heartbeat's thread. */
  get total(): number {
    return this.#jobs.total;
  }

  /** Number of processors that wait for a job. */
  get idle(): number {
    return this.#idle.length;
  }

  /** The tokens of all jobs that have not started. */
  get tokens(): string[] {
    return this.#jobs.tokens;
  }

  /** Whether jobs wait, and leases may have been lost. */
  get isUnsure(): boolean {
    return this.#isUnsure && this.size > 0;
  }

  /** Whether jobs have waited too long, and may be released. */
  get isStale(): boolean {
    const { clock, suspects } = this.#options;
    return this.size > 0 && !suspects?.admitting && clock.monotonic() - this.#filledAt >= STALE_MS;
  }

  /** Returns a job for a processor that has just finished one, which took this time; undefined if there is none. */
  next(ranMs = 0): Unstarted | undefined {
    this.#options.onFinished(ranMs);
    return this.#handOut();
  }

  /** Waits for a job; undefined if `signal` aborts first. */
  wait(signal: AbortSignal): Promise<Unstarted | undefined> {
    if (signal.aborted) return Promise.resolve(undefined);
    const job = this.#handOut();
    if (job) {
      this.#jobs.beginLater(job);
      return Promise.resolve(job);
    }
    const waiting = this.#waitInLine(signal);
    this.#options.onIdle();
    return waiting;
  }

  /**
   * Returns whether a job from {@linkcode next} or {@linkcode wait} may start. If it may, it counts as started, and neither the
   * fetcher nor the heartbeat's thread releases it any longer. If it may not, the processor no longer has it.
   */
  begin(job: Unstarted): boolean {
    const { leaseGuard, onUnsure } = this.#options;
    if (leaseGuard.isSure) return this.#jobs.begin(job);
    this.#jobs.putBack(job);
    this.#isUnsure = true;
    onUnsure();
    return false;
  }

  /** Records that a job that was handed out has ended, or has not started. */
  ended(lease: Lease): void {
    this.#options.suspects?.ended(lease);
  }

  /** Removes a job that has not started; undefined if it isn't here. */
  withdraw(jid: string): Lease | undefined {
    return this.#jobs.withdraw(jid);
  }

  /** Adds leases, and serves waiting processors. */
  add(leases: readonly Lease[]): void {
    this.#jobs.add(leases);
    this.#filledAt = this.#options.clock.monotonic();
    this.#serve();
  }

  /** Removes and returns all jobs that have not started and wait here, oldest first. */
  clear(): Lease[] {
    return this.#jobs.clear();
  }

  /** Removes and returns jobs that another worker has now. */
  drop(tokens: ReadonlySet<string>): Lease[] {
    return this.#jobs.drop(tokens);
  }

  /** Removes jobs that the heartbeat's thread has returned. */
  returned(tokens: readonly string[]): void {
    this.#jobs.returned(tokens);
  }

  /** Hands jobs out again. Called after the lost leases were dropped. */
  confirm(): void {
    if (!this.#isUnsure) return;
    this.#isUnsure = false;
    this.#serve();
  }

  /**
   * Hands nothing out until a request to the store has been sent. Processors can perform many short jobs in one turn of the
   * event loop: the request would be sent when all jobs here are done, and all processors would then wait for the reply.
   */
  async holdUntilSent(): Promise<void> {
    if (this.size === 0) return;
    this.#isHolding = true;
    // Requests of one turn are written in the next turn. After that turn they have been sent.
    await this.#options.clock.turn();
    await this.#options.clock.turn();
    this.#isHolding = false;
    this.#serve();
  }

  #serve(): void {
    while (this.#idle.length > 0) {
      const job = this.#handOut();
      if (job === undefined) return;
      this.#jobs.beginLater(job);
      this.#idle.shift()!(job);
    }
  }

  #handOut(): Unstarted | undefined {
    const { suspects, settler, onHandedOut, onReleased } = this.#options;
    for (;;) {
      const first = this.#isHolding || this.#isUnsure ? undefined : this.#jobs.first();
      if (first === undefined) return undefined;
      const admission = suspects === undefined ? "now" : suspects.admit(first);
      if (admission === "wait") return undefined;
      const job = this.#jobs.hand();
      onHandedOut();
      if (admission === "now") return job;
      if (!this.#jobs.begin(job)) continue;
      onReleased();
      settler.add(snoozed(job, admission.snoozeMs));
    }
  }

  #waitInLine(signal: AbortSignal): Promise<Unstarted | undefined> {
    return new Promise((resolve) => {
      const serve = (job: Unstarted | undefined) => {
        signal.removeEventListener("abort", leave);
        resolve(job);
      };
      const leave = () => {
        this.#idle = this.#idle.filter((one) => one !== serve);
        resolve(undefined);
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#idle.push(serve);
    });
  }
}

/** Returns the outcome of a job that runs later, with its payload unchanged. */
function snoozed({ token, payload }: Lease, delayMs: number): Outcome {
  return { kind: "snooze", token, delayMs, payload: setFields(payload, { enqueued_at: undefined }) };
}
