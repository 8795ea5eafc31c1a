/**
 * The rescuer: gives the leases of dead processes back to the front of their queues, at every heartbeat's interval and
 * at start. A job whose process died too often is poison and goes to `dead`.
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

  constructor(
    options: { store: Store; clock: Clock; log: Log; tally: Tally; intervalMs: number; maxRescues: number },
  ) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#tally = options.tally;
    this.#intervalMs = options.intervalMs;
    this.#maxRescues = options.maxRescues;
  }

  /** Rescues what there is to rescue now, a batch at most. */
  async step(): Promise<RescueResult> {
    const result = await this.#store.rescue(BATCH, this.#maxRescues);
    this.#tally.rescued += result.rescued;
    this.#tally.buried += result.buried;
    if (result.owners.length > 0 || result.rescued > 0 || result.buried > 0) {
      this.#log.warn("Rescued the jobs of dead processes", {
        processes: result.owners.join(" "),
        rescued: result.rescued,
        buried: result.buried,
      });
    }
    return result;
  }

  /** Until the next heartbeat's time, unless there is more to rescue. */
  async rest(result: RescueResult, signal: AbortSignal): Promise<void> {
    if (result.rescued + result.buried >= BATCH) return;
    await this.#clock.sleep(this.#intervalMs, signal);
  }
}
