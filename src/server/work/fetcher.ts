/**
 * The fetcher: takes leases from the store in chunks, and adds them to the buffer from which processors take jobs
 * (`lease_buffer.ts`).
 *
 *  1. It takes a job for every idle processor, and a little ahead of need (`take_ahead.ts`).
 *  2. Jobs that wait too long, because running jobs take longer than expected, return to the front of their queue. While a
 *     handler blocks the event loop, the heartbeat's thread returns them (`unstarted.ts`).
 *  3. If this worker may have been offline, the fetcher first confirms which leases it still has (`lease_guard.ts`).
 *  4. A quiet fetcher takes no jobs, and returns those that have not started.
 *  5. It takes no jobs while too many outcomes wait to be stored (`settler.ts`).
 *
 * If the process dies here, every job that it took is a lease in the store, and is rescued.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { parsePayload } from "../../job/job.ts";
import { isGone } from "../../store/port/errors.ts";
import type { Lease } from "../../store/port/jobs.ts";
import type { ServerStore } from "../../store/port/store.ts";
import type { LoopBody } from "../component.ts";
import { LeaseBuffer, STALE_MS } from "./lease_buffer.ts";
import type { LeaseGuard } from "./lease_guard.ts";
import { partsOf, type QueueOrder } from "./queue_order.ts";
import type { Settler } from "./settler.ts";
import type { Suspects } from "./suspects.ts";
import { TakeAhead } from "./take_ahead.ts";
import type { UnstartedJobs } from "./unstarted.ts";
import { Wakeup } from "./wakeup.ts";

/**
 * Maximum number of queues in one take, which looks at each of them. A worker of more queues takes from the first ones that
 * have jobs.
 */
const MAX_QUEUES_PER_TAKE = 500;
/** Pause between attempts to release jobs that a take with a lost reply may have leased, before jitter. */
const RETRY_MS = 500;
/** How often a worker that takes no jobs makes sure that the store has no leases for it that it doesn't know. */
const RECONCILE_MS = 15_000;

export interface FetcherOptions {
  readonly store: ServerStore;
  readonly worker: string;
  readonly clock: Clock;
  readonly settler: Settler;
  readonly order: QueueOrder;
  /** The classes that the worker has. Default: all. */
  readonly classes?: readonly string[] | undefined;
  readonly leaseGuard: Pick<LeaseGuard, "isSure" | "confirm">;
  /** Decides when a job may start. Default: at once. */
  readonly suspects?: Suspects;
  /** Holds jobs that have not started. Default: not shared with the heartbeat's thread. */
  readonly unstarted?: UnstartedJobs;
  /** The number of jobs to take in total. Default: unlimited. */
  readonly maxJobs?: number | undefined;
  /** Returns how many jobs to take now, at most; {@linkcode Fetcher.wake} when there are more. Default: unlimited. */
  readonly demand?: (() => number) | undefined;
}

export class Fetcher implements LoopBody<boolean> {
  readonly name = "fetcher";
  /** Hands jobs to the processors. */
  readonly buffer: LeaseBuffer;
  readonly #options: FetcherOptions;
  #order: QueueOrder;
  #isQuiet = false;
  readonly #ahead: TakeAhead;
  /** Rung when more jobs are needed, or the queues have changed. */
  readonly #wake = new Wakeup();
  /** Whether the queues are empty. The store then reports new jobs, and an idle processor need not wake the fetcher. */
  #queuesEmpty = false;
  #isUnanswered = false;
  #taken = 0;
  /** The number of jobs that it may still take. */
  #left: number;

  constructor(options: FetcherOptions) {
    const { clock, settler, order, leaseGuard, suspects, unstarted, maxJobs = Infinity } = options;
    this.#options = options;
    this.#order = order;
    this.#left = maxJobs;
    this.#ahead = new TakeAhead(clock);
    settler.onCaughtUp = () => this.#wake.ring();
    this.buffer = new LeaseBuffer({
      clock,
      settler,
      leaseGuard,
      suspects,
      unstarted,
      onFinished: (ranMs) => this.#ahead.finished(ranMs),
      onHandedOut: () => this.#isLow() && this.#wakeForMore(),
      onIdle: () => this.#wakeForMore(),
      onUnsure: () => this.#wake.ring(),
      onReleased: () => this.#left++,
    });
  }

  /** Number of jobs taken and not started. */
  get waiting(): number {
    return this.buffer.total;
  }

  /** Whether the queues were empty at the last take, and the store has not reported jobs since. */
  get queuesEmpty(): boolean {
    return this.#queuesEmpty;
  }

  get taken(): number {
    return this.#taken;
  }

  get exhausted(): boolean {
    return this.#left === 0;
  }

  get quiet(): boolean {
    return this.#isQuiet;
  }

  /** Returns whether its queues have jobs that it can take now, or later when a limit allows. */
  hasQueuedJobs(): Promise<boolean> {
    const { store, classes } = this.#options;
    return this.#isQuiet ? Promise.resolve(false) : store.jobs.hasQueuedJobs([...this.#order()], classes);
  }

  /** Whether a take isn't answered: it waits for its reply, or has lost it and will be repeated. The store may have leased jobs to it. */
  get isUnanswered(): boolean {
    return this.#isUnanswered;
  }

  /** The tokens of jobs that have not started. */
  get tokens(): string[] {
    return this.buffer.tokens;
  }

  /** Drops jobs that have not started and that another worker has now. Returns their jids. */
  lose(tokens: ReadonlySet<string>): string[] {
    const lost = this.buffer.drop(tokens);
    this.#left += lost.length;
    this.#wake.ring();
    return lost.map(({ payload }) => parsePayload(payload)?.jid || "(unreadable)");
  }

  /** Records that the heartbeat's thread has returned jobs, because the event loop was blocked. */
  returned(tokens: readonly string[]): void {
    this.buffer.returned(tokens);
    this.#left += tokens.length;
    this.#ahead.stop();
    this.#wake.ring();
  }

  /** Releases jobs that are not in the buffer. */
  release(tokens: readonly string[]): void {
    this.#left += tokens.length;
    for (const token of tokens) this.#options.settler.add({ kind: "release", token });
  }

  /** Stops taking jobs, and releases those that have not started. */
  goQuiet(): void {
    this.#isQuiet = true;
    this.#releaseWaiting();
    this.#wake.ring();
  }

  /**
   * Releases jobs that a take with a lost reply may have leased, because no processor would perform them. Retries until the
   * store has replied, or `signal` aborts. Called when the fetcher is quiet and its loop has ended.
   */
  async returnUnanswered(signal: AbortSignal): Promise<void> {
    const { store, worker, clock } = this.#options;
    while (!signal.aborted) {
      try {
        await store.jobs.take({ queues: [], limit: 0, worker });
        return;
      } catch (error) {
        if (isGone(error)) return;
        await clock.sleep(RETRY_MS * (0.5 + Math.random()), signal);
      }
    }
  }

  resume(): void {
    this.#isQuiet = false;
    this.#options.unstarted?.forgetQuiet();
    this.#wake.ring();
  }

  /** Takes jobs soon: the demand has grown. */
  wake(): void {
    this.#wake.ring();
  }

  /** Changes the queues, or their order, from the next step on. */
  setOrder(order: QueueOrder): void {
    this.#order = order;
    this.#wake.ring();
  }

  /** Takes as many jobs as are needed now. Returns true if the queues had fewer. */
  async step(): Promise<boolean> {
    const { store, worker, classes, leaseGuard } = this.#options;
    if (this.buffer.isStale) {
      this.#ahead.stop();
      this.#releaseWaiting();
    }
    if (!this.#isQuiet && !leaseGuard.isSure) await leaseGuard.confirm();
    this.buffer.confirm();
    this.#ahead.measure();
    const limit = this.#needed();
    if (limit === 0) return false;
    for (const queues of partsOf(this.#order(), MAX_QUEUES_PER_TAKE)) {
      this.#isUnanswered = true;
      const [leases] = await Promise.all([
        store.jobs.take({ queues, limit, worker, minTurn: this.#ahead.minTurn, classes }),
        this.buffer.holdUntilSent(),
      ]);
      this.#left -= leases.length;
      this.#taken += leases.length;
      this.#deliver(leases);
      this.#isUnanswered = false;
      if (queues.length < MAX_QUEUES_PER_TAKE) return leases.length < limit;
      // The queues that gave jobs may have more, which come before those of later queues.
      if (leases.length > 0 || this.#isQuiet) return false;
    }
    return true;
  }

  /** Waits for jobs if the queues were empty, otherwise until more are needed. */
  async rest(empty: boolean, signal: AbortSignal): Promise<void> {
    const needsNone = this.#needed() === 0;
    if (this.buffer.isUnsure || !needsNone && !empty) return;
    // Waiting jobs may become stale.
    if (needsNone && this.buffer.size > 0) return await this.#wake.wait(signal, this.#options.clock, STALE_MS);
    const over = new AbortController();
    void this.#reconcile(over.signal);
    try {
      if (needsNone) return await this.#wake.wait(signal);
      this.#queuesEmpty = true;
      const { store, classes } = this.#options;
      await this.#wake.until(signal, (either) => store.watch({ work: [...this.#order()], classes }, either));
    } finally {
      this.#queuesEmpty = false;
      over.abort("over");
    }
  }

  /**
   * Returns leases now and then, until `signal` aborts, that the store has for this worker since it lost its latest writes: a
   * worker that is idle, busy or quiet makes no take that would find them. Costs no request unless the connection was lost.
   */
  async #reconcile(signal: AbortSignal): Promise<void> {
    const { store, worker, clock } = this.#options;
    for (;;) {
      await clock.sleep(RECONCILE_MS, signal);
      if (signal.aborted) return;
      // After a failure the next one tries again.
      await store.jobs.take({ queues: [], limit: 0, worker }).catch(() => {});
    }
  }

  #wakeForMore(): void {
    if (!this.#queuesEmpty) this.#wake.ring();
  }

  /** Whether half of the jobs taken ahead have started. More are taken while processors perform the other half. */
  #isLow(): boolean {
    return this.buffer.size * 2 <= this.#ahead.jobs;
  }

  /** Also before the event loop, which was blocked, gets to the request. */
  get #isAskedQuiet(): boolean {
    return this.#isQuiet || this.#options.unstarted?.isQuietAsked === true;
  }

  #needed(): number {
    if (this.#isAskedQuiet || this.#options.settler.isBehind || this.buffer.idle === 0 && !this.#isLow()) return 0;
    const { demand = () => Infinity } = this.#options;
    const room = this.buffer.idle + this.#ahead.jobs - this.buffer.size;
    return Math.max(0, Math.min(this.#left, demand() - this.buffer.total, room));
  }

  #deliver(leases: readonly Lease[]): void {
    // The worker became quiet while the store replied.
    if (this.#isAskedQuiet) return this.release(leases.map(({ token }) => token));
    this.buffer.add(leases);
  }

  #releaseWaiting(): void {
    this.release(this.buffer.clear().map(({ token }) => token));
  }
}
