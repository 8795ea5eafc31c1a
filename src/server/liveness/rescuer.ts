/**
 * The rescuer: returns the leases of offline workers to the front of their queues, at the start and once per heartbeat
 * interval. The store decides which workers are offline (`JobStore.rescue`): not those that merely could not reach the store.
 * A job that keeps killing its workers is buried instead, and one that was cancelled meanwhile ends as cancelled.
 *
 * If the process dies between two steps, the rescuer of another worker continues: each step is whole.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { Log } from "../../log/log.ts";
import type { JobStore, RescueResult } from "../../store/port/jobs.ts";
import { CANCELLED_WORKER } from "../../store/port/workers.ts";
import type { Burial } from "../work/burial.ts";
import type { LoopBody } from "../component.ts";
import type { Counters } from "../stats/counters.ts";

/** Maximum number of leases in one step of the store. */
const CHUNK = 100;

export interface RescuerOptions {
  readonly store: { readonly jobs: Pick<JobStore, "rescue"> };
  readonly burial: Pick<Burial, "bury">;
  readonly worker: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly counters: Counters;
  readonly intervalMs: number;
  /** A job is buried when this many workers have died while they ran it. */
  readonly maxRescues: number;
}

export class Rescuer implements LoopBody<RescueResult> {
  readonly name = "rescuer";
  readonly #options: RescuerOptions;
  #isWaiting = false;
  #hasWork = true;

  constructor(options: RescuerOptions) {
    this.#options = options;
  }

  /**
   * Whether jobs may return to their queues soon: workers with leases may be offline, or the last step has rescued jobs. True
   * until the first step has ended.
   */
  get hasWork(): boolean {
    return this.#hasWork;
  }

  /** Rescues at most one chunk of leases, and buries the doomed jobs among them. */
  async step(): Promise<RescueResult> {
    const { store, burial, worker, counters, maxRescues } = this.#options;
    try {
      const result = await store.jobs.rescue({ worker, limit: CHUNK, maxRescues });
      this.#hasWork = result.waits || result.rescued > 0;
      counters.rescued += result.rescued;
      let buried = 0;
      let cancelled = 0;
      for (const job of result.doomed) {
        if (!await burial.bury(job)) continue;
        if (job.cancelled) {
          cancelled++;
          continue;
        }
        counters.buried++;
        buried++;
      }
      this.#report(result, { buried, cancelled });
      return result;
    } catch (error) {
      this.#hasWork = false;
      throw error;
    }
  }

  #report({ rescued, offline, waits }: RescueResult, ended: { buried: number; cancelled: number }): void {
    const { log } = this.#options;
    const { buried, cancelled } = ended;
    // Each job of that one has a separate line.
    const workers = offline.filter((id) => id !== CANCELLED_WORKER).join(" ");
    if (workers !== "" && rescued + buried + cancelled === 0) {
      log.warn("Removed offline workers without jobs", { workers });
    } else if (workers !== "") {
      log.warn("Rescued jobs of offline workers", { workers, rescued, buried, ...(cancelled > 0 && { cancelled }) });
    }
    if (waits && !this.#isWaiting) {
      log.info("Workers may be offline: waiting one heartbeat timeout before their jobs are rescued");
    }
    this.#isWaiting = waits;
  }

  /** Waits one heartbeat interval, unless there is more to rescue. */
  async rest(result: RescueResult, signal: AbortSignal): Promise<void> {
    if (result.more) return;
    await this.#options.clock.sleep(this.#options.intervalMs, signal);
  }
}
