/**
 * The fetcher: takes leases in batches and hands them to the processors.
 *
 *  1. It takes for every idle processor, and only a little ahead of need (`take_ahead.ts`).
 *  2. What waits too long all the same (quick jobs turned slow) is given back to the front of its queue.
 *     While a handler blocks the event loop, the heartbeat's thread does that (`unstarted.ts`).
 *  3. It hands nothing out while this worker may have been taken for offline (`lease_guard.ts`).
 *  4. When quiet it takes nothing, and gives back what has not started.
 *
 * If the process dies here, every job it took is a lease in the store and is rescued.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { parsePayload } from "../../job/job.ts";
import { setFields } from "../../job/raw.ts";
import { isGone } from "../../store/port/errors.ts";
import type { Lease, Outcome } from "../../store/port/jobs.ts";
import { IdleProcessors } from "./idle_processors.ts";
import type { LeaseGuard } from "./lease_guard.ts";
import type { QueueOrder } from "./queue_order.ts";
import type { LoopBody } from "../component.ts";
import type { Settler } from "./settler.ts";
import type { Suspects } from "./suspects.ts";
import { TakeAhead } from "./take_ahead.ts";
import { type Unstarted, UnstartedJobs } from "./unstarted.ts";
import { Wakeup } from "./wakeup.ts";
import type { ServerStore } from "../../store/port/store.ts";

/** Jobs that have waited here for this long are given back. */
const STALE_MS = 1_000;
/** Between two attempts to give back what a lost answer may have leased, with jitter. */
const RETRY_MS = 500;

/** What the fetcher is made with. */
export interface FetcherOptions {
  readonly store: ServerStore;
  readonly owner: string;
  readonly clock: Clock;
  readonly settler: Settler;
  readonly order: QueueOrder;
  readonly leaseGuard: Pick<LeaseGuard, "isSure" | "confirm">;
  /** Decides when a job may start; default: at once. */
  readonly suspects?: Suspects;
  /** Holds the jobs that have not started; default: shared with no thread. */
  readonly unstarted?: UnstartedJobs;
  /** Take so many in all, and no more. */
  readonly maxJobs?: number | undefined;
}

/** Takes leases ahead of need. Its loop's task is `fetcher`. */
export class Fetcher implements LoopBody<boolean> {
  readonly name = "fetcher";
  readonly #store: ServerStore;
  readonly #owner: string;
  readonly #clock: Clock;
  readonly #settler: Settler;
  readonly #leaseGuard: FetcherOptions["leaseGuard"];
  readonly #suspects: Suspects | undefined;
  #order: QueueOrder;
  #quiet = false;
  readonly #unstarted: UnstartedJobs;
  /** When the last jobs were taken. */
  #readySince = 0;
  /** Nothing is handed out for a moment. */
  #holding = false;
  /** Nothing is handed out until a step has confirmed which leases are left. */
  #isUnsure = false;
  readonly #idle = new IdleProcessors();
  readonly #ahead: TakeAhead;
  /** Rung when more is wanted, or the queues have changed. */
  readonly #wake = new Wakeup();
  /** The queues are empty and the store will say when they are not: an idle processor need not ring. */
  #queuesEmpty = false;
  /** How many it may still take. */
  #left: number;

  constructor(options: FetcherOptions) {
    this.#store = options.store;
    this.#owner = options.owner;
    this.#clock = options.clock;
    this.#settler = options.settler;
    this.#leaseGuard = options.leaseGuard;
    this.#unstarted = options.unstarted ?? new UnstartedJobs();
    this.#order = options.order;
    this.#suspects = options.suspects;
    if (this.#suspects) this.#suspects.onChange = () => this.#serveIdle();
    this.#left = options.maxJobs ?? Infinity;
    this.#ahead = new TakeAhead(options.clock);
  }

  /** Jobs taken and not yet started. */
  get waiting(): number {
    return this.#unstarted.total;
  }

  /** Whether the queues were empty at the last look, and nothing has come since. */
  get queuesEmpty(): boolean {
    return this.#queuesEmpty;
  }

  /** Whether it has taken as many as it may. */
  get exhausted(): boolean {
    return this.#left === 0;
  }

  get quiet(): boolean {
    return this.#quiet;
  }

  /** Returns whether its queues have jobs that it will take now, or as soon as a limit allows. */
  hasQueuedJobs(): Promise<boolean> {
    return this.#quiet ? Promise.resolve(false) : this.#store.jobs.hasQueuedJobs(this.#order());
  }

  /** A job that was handed out has ended, however it did. */
  ended(lease: Lease): void {
    this.#suspects?.ended(lease);
  }

  /** The next job if one is at hand, for a processor that has just finished one. */
  next(): Unstarted | undefined {
    this.#ahead.finished();
    return this.#hand();
  }

  /**
   * Returns true if a job from {@linkcode next} or {@linkcode wait} may start. It has started then: neither this side nor
   * the heartbeat's thread gives it back any more. False: the job is no longer this processor's.
   */
  begin(job: Unstarted): boolean {
    if (this.#leaseGuard.isSure) return this.#unstarted.begin(job);
    this.#unstarted.putBack(job);
    // The next step confirms.
    this.#isUnsure = true;
    this.#wake.ring();
    return false;
  }

  /** The next job when there is one; undefined when `signal` aborts first. */
  wait(signal: AbortSignal): Promise<Unstarted | undefined> {
    const job = signal.aborted ? undefined : this.#hand();
    if (job) this.#unstarted.await(job);
    if (job || signal.aborted) return Promise.resolve(job);
    const waiting = this.#idle.wait(signal);
    this.#wantMore();
    return waiting;
  }

  /** Takes a job that waits here, and has not started, out again. */
  withdraw(jid: string): Lease | undefined {
    return this.#unstarted.withdraw(jid);
  }

  /** The tokens of jobs that have not started. */
  get tokens(): string[] {
    return this.#unstarted.tokens;
  }

  /** Drops jobs that have not started and that another worker has now. */
  lose(tokens: ReadonlySet<string>): string[] {
    const lost = this.#unstarted.drop(tokens);
    this.#left += lost.length;
    this.#wake.ring();
    return lost.map(({ payload }) => parsePayload(payload)?.jid || "(unreadable)");
  }

  /** The heartbeat's thread has given these jobs back, because the event loop was blocked. */
  returned(tokens: readonly string[]): void {
    this.#unstarted.returned(tokens);
    this.#left += tokens.length;
    this.#ahead.stop();
    this.#wake.ring();
    // This connection still counts them as its own until it has asked.
    this.#store.jobs.stillLeased(this.#owner, tokens).catch(() => {});
  }

  /** Gives jobs back that are no longer among those that wait. */
  release(tokens: readonly string[]): void {
    this.#left += tokens.length;
    for (const token of tokens) this.#settler.add({ kind: "release", token });
  }

  /** Takes nothing more, and gives back what has not started. */
  goQuiet(): void {
    this.#quiet = true;
    this.#giveBack();
    this.#wake.ring();
  }

  /**
   * Gives back jobs that a lost answer of the store may have leased: nobody here would perform them. Retries until the
   * store has answered, or `signal` aborts. Called when the fetcher is quiet and its loop has ended.
   */
  async returnUnanswered(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        return await this.#store.jobs.returnUnanswered(this.#owner);
      } catch (error) {
        if (isGone(error)) return;
        await this.#clock.sleep(RETRY_MS * (0.5 + Math.random()), signal);
      }
    }
  }

  /** Takes again. */
  resume(): void {
    this.#quiet = false;
    this.#wake.ring();
  }

  /** Takes from other queues, or in another order, from the next step on. */
  setOrder(order: QueueOrder): void {
    this.#order = order;
    this.#wake.ring();
  }

  /** Takes what is wanted now. True when the queues had less than that. */
  async step(): Promise<boolean> {
    this.#giveBackStale();
    if (!this.#quiet && !this.#leaseGuard.isSure) await this.#leaseGuard.confirm();
    if (this.#isUnsure) {
      this.#isUnsure = false;
      this.#serveIdle();
    }
    this.#ahead.measure();
    const limit = this.#wanted();
    if (limit === 0) return false;
    const [leases] = await Promise.all([
      this.#store.jobs.take({ queues: this.#order(), limit, owner: this.#owner }),
      this.#letItGo(),
    ]);
    this.#left -= leases.length;
    this.#deliver(leases);
    return leases.length < limit;
  }

  /** Waits for work when the queues were empty, else until more is wanted. */
  async rest(empty: boolean, signal: AbortSignal): Promise<void> {
    if (this.#isUnsure && this.#unstarted.size > 0) return;
    if (this.#wanted() === 0) {
      // What waits here must be looked at before it is stale.
      if (this.#unstarted.size > 0) await this.#wake.wait(signal, this.#clock, STALE_MS);
      else await this.#wake.wait(signal);
    } else if (empty) {
      this.#queuesEmpty = true;
      await this.#wake.until(signal, (either) => this.#store.jobs.waitForWork(this.#order(), either));
      this.#queuesEmpty = false;
    }
  }

  /**
   * Hands nothing out until a request has gone out to the store. Quick jobs never leave this turn of the event loop: the
   * request would go when all that is at hand is done, and everyone would then wait for the answer.
   */
  async #letItGo(): Promise<void> {
    if (this.#unstarted.size === 0) return;
    this.#holding = true;
    // What is asked in one turn is written in the next: when that is over, too, it is under way.
    await this.#clock.turn();
    await this.#clock.turn();
    this.#holding = false;
    this.#serveIdle();
  }

  #serveIdle(): void {
    while (this.#idle.count > 0) {
      const job = this.#hand();
      if (job === undefined) return;
      this.#unstarted.await(job);
      this.#idle.serve(job);
    }
  }

  #canHand(): boolean {
    return !this.#holding && !this.#isUnsure && this.#unstarted.first() !== undefined;
  }

  #hand(): Unstarted | undefined {
    while (this.#canHand()) {
      const admission = this.#suspects?.admit(this.#unstarted.first()!) ?? "now";
      if (admission === "wait") return undefined;
      const job = this.#unstarted.hand();
      // Half used up: fetch the other half while this one is worked on.
      if (this.#unstarted.size * 2 <= this.#ahead.jobs) this.#wantMore();
      if (admission === "now") return job;
      if (!this.#unstarted.begin(job)) continue;
      this.#left++;
      this.#settler.add(snoozed(job, admission.snoozeMs));
    }
    return undefined;
  }

  #wantMore(): void {
    if (!this.#queuesEmpty) this.#wake.ring();
  }

  #wanted(): number {
    if (this.#quiet) return 0;
    const { size } = this.#unstarted;
    const ahead = this.#ahead.jobs;
    if (this.#idle.count === 0 && size * 2 > ahead) return 0;
    return Math.min(this.#left, Math.max(0, this.#idle.count + ahead - size));
  }

  #deliver(leases: readonly Lease[]): void {
    // Quiet came while the store was asked.
    if (this.#quiet) return this.release(leases.map(({ token }) => token));
    this.#unstarted.add(leases);
    this.#readySince = this.#clock.monotonic();
    this.#serveIdle();
  }

  #giveBackStale(): void {
    if (this.#suspects?.admitting) return;
    if (this.#unstarted.size > 0 && this.#clock.monotonic() - this.#readySince >= STALE_MS) {
      this.#ahead.stop();
      this.#giveBack();
    }
  }

  #giveBack(): void {
    this.release(this.#unstarted.clear().map(({ token }) => token));
  }
}

/** It is tried again a while later, as it is. */
function snoozed({ token, payload }: Lease, delayMs: number): Outcome {
  return { kind: "snooze", token, delayMs, payload: setFields(payload, { enqueued_at: undefined }) };
}
