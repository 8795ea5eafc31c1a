/**
 * The fetcher: takes leases in batches and hands them to the processors.
 *
 *  1. It takes for every idle processor, and ahead of need only what the processors finish within {@linkcode AHEAD_MS}:
 *     thousands of quick jobs a second come in large batches, while behind a slow job nothing waits that another
 *     process could do.
 *  2. What waits too long all the same (quick jobs turned slow) is given back to the front of its queue.
 *  3. It hands nothing out while this worker may have been taken for offline (`ownership.ts`).
 *  4. When quiet it takes nothing, and gives back what has not started.
 *
 * If the process dies here, every job it took is a lease in the store and is rescued.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import { parsePayload } from "../job/job.ts";
import { getField, setFields } from "../job/raw.ts";
import { isGone } from "../store/errors.ts";
import type { Lease, Outcome, Store } from "../store/store.ts";
import type { Ownership } from "./ownership.ts";
import type { QueueOrder } from "./queue_order.ts";
import type { LoopBody } from "./service.ts";
import type { Settler } from "./settler.ts";
import type { Suspects } from "./suspects.ts";
import { Wake } from "./wake.ts";

/** It takes ahead what is finished within so much time at the present rate. */
const AHEAD_MS = 20;
/** At most so many wait here, whatever the rate. */
const MOST_AHEAD = 1_000;
/** The rate is measured over at least so long: two jobs that end together are no burst. */
const SHORTEST_LOOK_MS = 2;
/** What has waited here for so long is given back. */
const STALE_MS = 1_000;

/** Between two attempts to give back what a lost answer may have leased, with jitter. */
const RETRY_MS = 500;

/** What the fetcher is made with. */
export interface FetcherOptions {
  readonly store: Store;
  readonly owner: string;
  readonly clock: Clock;
  readonly settler: Settler;
  readonly order: QueueOrder;
  readonly ownership: Pick<Ownership, "isSure" | "confirm">;
  /** Decides when a job may start; default: at once. */
  readonly suspects?: Suspects;
  /** Take so many in all, and no more. */
  readonly maxJobs?: number | undefined;
}

/** Takes leases ahead of need. Its loop's task is `fetcher`. */
export class Fetcher implements LoopBody<boolean> {
  readonly name = "fetcher";
  readonly #store: Store;
  readonly #owner: string;
  readonly #clock: Clock;
  readonly #settler: Settler;
  readonly #ownership: FetcherOptions["ownership"];
  readonly #suspects: Suspects | undefined;
  #order: QueueOrder;
  #quiet = false;
  /** Taken and not handed out, oldest first, from `#head` on. */
  #ready: Lease[] = [];
  #head = 0;
  #readySince = 0;
  /** Nothing is handed out for a moment. */
  #holding = false;
  /** Processors that wait for a lease. */
  #idle: ((lease: Lease | undefined) => void)[] = [];
  /** Jobs that processors finished since `#rateSince`. */
  #finished = 0;
  #rateSince: number;
  #ahead = 0;
  /** Rung when more is wanted, or the queues have changed. */
  readonly #wake = new Wake();
  /** The queues are empty and the store will say when they are not: an idle processor need not ring. */
  #queuesEmpty = false;
  /** How many it may still take. */
  #left: number;

  constructor(options: FetcherOptions) {
    this.#store = options.store;
    this.#owner = options.owner;
    this.#clock = options.clock;
    this.#settler = options.settler;
    this.#ownership = options.ownership;
    this.#order = options.order;
    this.#suspects = options.suspects;
    if (this.#suspects) this.#suspects.onChange = () => this.#serveIdle();
    this.#left = options.maxJobs ?? Infinity;
    this.#rateSince = options.clock.monotonic();
  }

  /** Jobs taken and not yet handed to a processor. */
  get waiting(): number {
    return this.#ready.length - this.#head;
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
    return this.#quiet ? Promise.resolve(false) : this.#store.hasQueuedJobs(this.#order());
  }

  /** A job that was handed out has ended, however it did. */
  ended(lease: Lease): void {
    this.#suspects?.ended(lease);
  }

  /** The next lease if one is at hand, for a processor that has just finished a job. */
  next(): Lease | undefined {
    this.#finished++;
    return this.#hand();
  }

  /** The next lease when there is one; undefined when `signal` aborts first. */
  wait(signal: AbortSignal): Promise<Lease | undefined> {
    const lease = signal.aborted ? undefined : this.#hand();
    if (lease || signal.aborted) return Promise.resolve(lease);
    return new Promise((resolve) => {
      const settle = (lease: Lease | undefined) => {
        signal.removeEventListener("abort", leave);
        resolve(lease);
      };
      const leave = () => {
        this.#idle = this.#idle.filter((one) => one !== settle);
        resolve(undefined);
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#idle.push(settle);
      this.#wantMore();
    });
  }

  /** Takes a job that waits here, and has not started, out again. */
  withdraw(jid: string): Lease | undefined {
    const i = this.#ready.findIndex((lease, i) => i >= this.#head && getField(lease.payload, "jid") === jid);
    return i < 0 ? undefined : this.#ready.splice(i, 1)[0];
  }

  /** The tokens of what waits here. */
  get tokens(): string[] {
    return this.#ready.slice(this.#head).map((lease) => lease.token);
  }

  /** Drops what waits here and is another's now. */
  lose(tokens: ReadonlySet<string>): string[] {
    const lost = this.#ready.slice(this.#head).filter((lease) => tokens.has(lease.token));
    const left = this.#ready.slice(this.#head).filter((lease) => !tokens.has(lease.token));
    this.#left += this.waiting - left.length;
    this.#ready = left;
    this.#head = 0;
    this.#wake.ring();
    return lost.map(({ payload }) => parsePayload(payload)?.jid || "(unreadable)");
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
        return await this.#store.returnUnanswered(this.#owner);
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
    if (!this.#quiet && !this.#ownership.isSure) {
      await this.#ownership.confirm();
      this.#serveIdle();
    }
    this.#measureRate();
    const limit = this.#wanted();
    if (limit === 0) return false;
    const [leases] = await Promise.all([
      this.#store.take({ queues: this.#order(), limit, owner: this.#owner }),
      this.#letItGo(),
    ]);
    this.#left -= leases.length;
    this.#deliver(leases);
    return leases.length < limit;
  }

  /** Waits for work when the queues were empty, else until more is wanted. */
  async rest(empty: boolean, signal: AbortSignal): Promise<void> {
    if (this.waiting > 0 && !this.#ownership.isSure) return;
    if (this.#wanted() === 0) {
      // What waits here must be looked at before it is stale.
      if (this.waiting > 0) await this.#wake.wait(signal, this.#clock, STALE_MS);
      else await this.#wake.wait(signal);
    } else if (empty) {
      this.#queuesEmpty = true;
      await this.#wake.until(signal, (either) => this.#store.waitForWork(this.#order(), either));
      this.#queuesEmpty = false;
    }
  }

  /**
   * Hands nothing out until a request has gone out to the store. Quick jobs never leave this turn of the event loop: the
   * request would go when all that is at hand is done, and everyone would then wait for the answer.
   */
  async #letItGo(): Promise<void> {
    if (this.waiting === 0) return;
    this.#holding = true;
    // What is asked in one turn is written in the next: when that is over, too, it is under way.
    await this.#clock.turn();
    await this.#clock.turn();
    this.#holding = false;
    this.#serveIdle();
  }

  #serveIdle(): void {
    while (this.#idle.length > 0) {
      const lease = this.#hand();
      if (lease === undefined) return;
      this.#idle.shift()!(lease);
    }
  }

  #canHand(): boolean {
    if (this.#holding || this.#head === this.#ready.length) return false;
    if (this.#ownership.isSure) return true;
    // The next step confirms.
    this.#wake.ring();
    return false;
  }

  #hand(): Lease | undefined {
    while (this.#canHand()) {
      const lease = this.#ready[this.#head]!;
      const admission = this.#suspects?.admit(lease) ?? "now";
      if (admission === "wait") return undefined;
      this.#head++;
      // Half used up: fetch the other half while this one is worked on.
      if (this.waiting * 2 <= this.#ahead) this.#wantMore();
      if (admission === "now") return lease;
      this.#left++;
      this.#settler.add(snoozed(lease, admission.snoozeMs));
    }
    return undefined;
  }

  #wantMore(): void {
    if (!this.#queuesEmpty) this.#wake.ring();
  }

  #wanted(): number {
    if (this.#quiet) return 0;
    if (this.#idle.length === 0 && this.waiting * 2 > this.#ahead) return 0;
    return Math.min(this.#left, Math.max(0, this.#idle.length + this.#ahead - this.waiting));
  }

  /** Sets how far to take ahead from how many jobs were finished lately. */
  #measureRate(): void {
    const now = this.#clock.monotonic();
    const elapsed = now - this.#rateSince;
    if (elapsed < SHORTEST_LOOK_MS) return;
    this.#ahead = Math.min(MOST_AHEAD, Math.floor(this.#finished / elapsed * AHEAD_MS));
    this.#finished = 0;
    this.#rateSince = now;
  }

  #deliver(leases: readonly Lease[]): void {
    if (this.#quiet) {
      // Quiet came while the store was asked.
      this.#left += leases.length;
      for (const lease of leases) this.#settler.add({ kind: "release", token: lease.token });
      return;
    }
    this.#ready = this.#head === this.#ready.length ? [...leases] : [...this.#ready.slice(this.#head), ...leases];
    this.#head = 0;
    this.#readySince = this.#clock.monotonic();
    this.#serveIdle();
  }

  #giveBackStale(): void {
    if (this.#suspects?.admitting) return;
    if (this.waiting > 0 && this.#clock.monotonic() - this.#readySince >= STALE_MS) {
      this.#ahead = 0;
      this.#giveBack();
    }
  }

  #giveBack(): void {
    this.#left += this.waiting;
    for (const lease of this.#ready.slice(this.#head)) this.#settler.add({ kind: "release", token: lease.token });
    this.#ready = [];
    this.#head = 0;
  }
}

/** It is tried again a while later, as it is. */
function snoozed({ token, payload }: Lease, delayMs: number): Outcome {
  return { kind: "snooze", token, delayMs, payload: setFields(payload, { enqueued_at: undefined }) };
}
