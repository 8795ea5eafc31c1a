/**
 * The batch sweeper: abandons open batches that no client closes, and removes finished ones after their retention. Several
 * workers may sweep at once: each batch is handled in one step of the store.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { Log } from "../../log/log.ts";
import { type BatchStore, type BatchSweep, SWEEP_LIMIT } from "../../store/port/batches.ts";
import type { LoopBody } from "../component.ts";

/** How late a batch may be abandoned or removed. */
const INTERVAL_MS = 15_000;

export class BatchSweeper implements LoopBody<BatchSweep> {
  readonly name = "batch-sweeper";
  readonly #store: { readonly batches: Pick<BatchStore, "sweep"> };
  readonly #clock: Clock;
  readonly #log: Log;

  constructor({ store, clock, log }: {
    readonly store: { readonly batches: Pick<BatchStore, "sweep"> };
    readonly clock: Clock;
    readonly log: Log;
  }) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
  }

  async step(): Promise<BatchSweep> {
    const swept = await this.#store.batches.sweep(SWEEP_LIMIT);
    if (swept.abandoned > 0) {
      this.#log.warn("Abandoned batches that were not closed in time", { batches: swept.abandoned });
    }
    return swept;
  }

  /** Rests unless more are due. */
  async rest({ more }: BatchSweep, signal: AbortSignal): Promise<void> {
    if (!more) await this.#clock.sleep(INTERVAL_MS, signal);
  }
}
