/**
 * The rescuer: gives the leases of dead processes back to the front of their queues, at every heartbeat's interval and
 * at start, but not while it may be this process, or the store, that was away (`steadiness.ts`). A job whose process died
 * too often is poison and goes to `dead`.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import type { RescueResult, Store } from "../store/store.ts";
import type { LoopBody } from "./service.ts";
import type { Tally } from "./tally.ts";

/** At most so many leases in one step of the store. */
const BATCH = 100;

/** Its loop's task is `rescuer`. */
export class Rescuer implements LoopBody<RescueResult> {
  readonly name = "rescuer";
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #tally: Tally;
  readonly #intervalMs: number;
  readonly #maxRescues: number;
  readonly #steady: () => boolean;
  #waiting = false;

  constructor(options: {
    readonly store: Store;
    readonly clock: Clock;
    readonly log: Log;
    readonly tally: Tally;
    readonly intervalMs: number;
    readonly maxRescues: number;
    /** Whether others may be taken for dead. */
    readonly steady: () => boolean;
  }) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#tally = options.tally;
    this.#intervalMs = options.intervalMs;
    this.#maxRescues = options.maxRescues;
    this.#steady = options.steady;
  }

  /** Rescues what there is to rescue now, a batch at most. */
  async step(): Promise<RescueResult> {
    if (!this.#mayRescue()) return { rescued: 0, buried: 0, owners: [] };
    const result = await this.#store.rescue(BATCH, this.#maxRescues);
    this.#tally.rescued += result.rescued;
    this.#tally.buried += result.buried;
    if (result.owners.length > 0 || result.rescued > 0 || result.buried > 0) {
      const processes = result.owners.join(" ");
      const { rescued, buried } = result;
      if (rescued + buried === 0) this.#log.warn("Forgot dead processes, which had no jobs", { processes });
      else this.#log.warn("Rescued the jobs of dead processes", { processes, rescued, buried });
    }
    return result;
  }

  #mayRescue(): boolean {
    const isWaiting = !this.#steady();
    if (isWaiting && !this.#waiting) {
      this.#log.info("Rescues wait: nobody could say that he lives, until all have had the time to");
    }
    if (!isWaiting && this.#waiting) this.#log.info("Rescues go on");
    this.#waiting = isWaiting;
    return !isWaiting;
  }

  /** Until the next heartbeat's time, unless there is more to rescue. */
  async rest(result: RescueResult, signal: AbortSignal): Promise<void> {
    if (result.rescued + result.buried >= BATCH) return;
    await this.#clock.sleep(this.#intervalMs, signal);
  }
}
