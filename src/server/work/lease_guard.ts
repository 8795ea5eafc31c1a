/**
 * The lease guard: decides whether this worker certainly still has the leases of jobs that it has not started.
 *
 * When its last heartbeat is older than the heartbeat timeout, because it was frozen or cut off from the store, another worker
 * may rescue these jobs. The lease buffer then hands nothing out until this worker has sent a heartbeat, after which no lease
 * can be rescued, and has read from the store which leases it still has.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { StoreError } from "../../store/port/errors.ts";

/** A time on both clocks: the wall clock may be set, and the monotonic clock stops while the machine sleeps. */
export interface Moment {
  /** Epoch milliseconds. */
  readonly now: number;
  /** Milliseconds. */
  readonly monotonic: number;
}

export function momentOf(clock: Clock): Moment {
  return { now: clock.now(), monotonic: clock.monotonic() };
}

/** Pause before the store is asked again. */
const RETRY_MS = 500;
/** If the wall clock has advanced by less than this, it was not set, and the machine has not slept. */
const SHORT_MS = 1_000;

export interface LeaseGuardOptions {
  readonly clock: Clock;
  /** The heartbeat timeout. */
  readonly ttlMs: number;
  /** Sends a heartbeat, and reports it with {@linkcode LeaseGuard.noteHeartbeat}. Rejects if the store doesn't accept it. */
  readonly sendHeartbeat: () => Promise<void>;
  /** Reads from the store which leases are left, and drops the other jobs. Rejects if the store doesn't reply. */
  readonly dropLost: () => Promise<void>;
}

export class LeaseGuard {
  readonly #options: LeaseGuardOptions;
  /** When the last heartbeat that the store accepted was sent. */
  #heartbeatAt: Moment;
  /** When `isSure` was last read, by the wall clock. */
  #readAt = 0;
  /** Number of lapses, and their number when the leases were last compared with the store. */
  #lapses = 0;
  #compared = 0;

  constructor(options: LeaseGuardOptions) {
    this.#options = options;
    this.#heartbeatAt = momentOf(options.clock);
  }

  /** Whether every lease is certainly this worker's. Read before each job starts: usually it reads one clock. */
  get isSure(): boolean {
    if (this.#lapses !== this.#compared) return false;
    const { clock, ttlMs } = this.#options;
    const now = clock.now();
    const elapsed = now - this.#readAt;
    this.#readAt = now;
    if (elapsed < 0 || elapsed >= SHORT_MS) this.#followClocks(now);
    return now - this.#heartbeatAt.now < ttlMs;
  }

  /**
   * Records a heartbeat that the store accepted.
   *
   * @param sentAt when it was sent, or earlier
   * @param lapsed whether the worker counted as offline before it
   */
  noteHeartbeat(sentAt: Moment, lapsed: boolean): void {
    if (lapsed) this.#lapses++;
    this.#heartbeatAt = sentAt;
    this.#followClocks(this.#options.clock.now());
  }

  /**
   * Reads which leases are left. Called between two takes, because the leases of a pending take could not be compared.
   *
   * @throws {StoreError} if the store doesn't reply
   */
  async confirm(): Promise<void> {
    await this.#options.sendHeartbeat();
    // A lapse that is reported from here on may be later than the comparison.
    const lapses = this.#lapses;
    await this.#options.dropLost();
    this.#compared = lapses;
  }

  /**
   * Aborts the running jobs that this worker has lost, unless it certainly has every lease. For a job that has begun and had to wait:
   * until its process was ready, for example. Ends without an answer when `signal` aborts.
   */
  async recheck(signal: AbortSignal): Promise<void> {
    const { clock, sendHeartbeat, dropLost } = this.#options;
    while (!signal.aborted && !this.isSure) {
      try {
        await sendHeartbeat();
        return await dropLost();
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
      }
      await clock.sleep(RETRY_MS, signal);
    }
  }

  /** Moves the heartbeat back on the wall clock if the monotonic clock shows a greater age. */
  #followClocks(now: number): void {
    const age = this.#options.clock.monotonic() - this.#heartbeatAt.monotonic;
    this.#heartbeatAt = { ...this.#heartbeatAt, now: Math.min(this.#heartbeatAt.now, now - age) };
  }
}
