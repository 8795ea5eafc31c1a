/**
 * The rescuer: gives the leases of offline workers back to the front of their queues, at every heartbeat's interval and
 * at start. Which workers are offline is the store's to decide (`Store.rescue`): not those that merely could not reach
 * the store. A job that keeps killing its workers is buried instead.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { Log } from "../../log/log.ts";
import type { JobStore, RescueResult } from "../../store/port/jobs.ts";
import type { Burial } from "../work/burial.ts";
import type { LoopBody } from "../component.ts";
import type { Counters } from "../stats/counters.ts";

/** Maximum number of leases in one step of the store. */
const BATCH = 100;

/** Its loop's task is `rescuer`. */
export class Rescuer implements LoopBody<RescueResult> {
  readonly name = "rescuer";
  readonly #store: { readonly jobs: Pick<JobStore, "rescue"> };
  readonly #burial: Pick<Burial, "bury">;
  readonly #owner: string;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #counters: Counters;
  readonly #intervalMs: number;
  readonly #maxRescues: number;
  #waiting = false;
  #hasWork = true;

  constructor(options: {
    readonly store: { readonly jobs: Pick<JobStore, "rescue"> };
    readonly burial: Pick<Burial, "bury">;
    /** The identity of this worker. */
    readonly owner: string;
    readonly clock: Clock;
    readonly log: Log;
    readonly counters: Counters;
    readonly intervalMs: number;
    readonly maxRescues: number;
  }) {
    this.#store = options.store;
    this.#burial = options.burial;
    this.#owner = options.owner;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#counters = options.counters;
    this.#intervalMs = options.intervalMs;
    this.#maxRescues = options.maxRescues;
  }

  /**
   * Whether jobs may come back to their queues soon: workers with leases may be offline, or the last step has rescued
   * some. True until the first step has ended.
   */
  get hasWork(): boolean {
    return this.#hasWork;
  }

  /** Rescues one batch of leases at most, and buries those of them that are doomed. */
  async step(): Promise<RescueResult> {
    try {
      const result = await this.#store.jobs.rescue({ owner: this.#owner, limit: BATCH, maxRescues: this.#maxRescues });
      this.#hasWork = result.waits || result.rescued > 0;
      this.#counters.rescued += result.rescued;
      let buried = 0;
      for (const job of result.doomed) {
        if (!await this.#burial.bury(job)) continue;
        this.#counters.buried++;
        buried++;
      }
      this.#report(result, buried);
      return result;
    } catch (error) {
      this.#hasWork = false;
      throw error;
    }
  }

  #report({ rescued, owners, waits }: RescueResult, buried: number): void {
    if (owners.length > 0 || rescued > 0 || buried > 0) {
      const processes = owners.join(" ");
      if (rescued + buried === 0) this.#log.warn("Forgot dead processes, which had no jobs", { processes });
      else this.#log.warn("Rescued the jobs of dead processes", { processes, rescued, buried });
    }
    if (waits && !this.#waiting) {
      this.#log.info("Workers may be offline: waiting until each has had a heartbeat timeout to show that it lives");
    }
    this.#waiting = waits;
  }

  /** Until the next heartbeat's time, unless there is more to rescue. */
  async rest(result: RescueResult, signal: AbortSignal): Promise<void> {
    if (result.more) return;
    await this.#clock.sleep(this.#intervalMs, signal);
  }
}
