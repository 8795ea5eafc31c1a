/**
 * The batch tender: pushes and cancels nodes of flows that the end of an earlier node left for later, because there were many.
 * Abandons open batches that no client closes, and removes finished ones after their retention. Several workers may do so at
 * once: each part is one step of the store.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { Log } from "../../log/log.ts";
import { type BatchStore, TEND_LIMIT, type Tended } from "../../store/port/batches.ts";
import type { LoopBody } from "../component.ts";
import { Wakeup } from "../work/wakeup.ts";

/** How late a batch may be abandoned or removed, and nodes that another worker or an operator left are found. */
const INTERVAL_MS = 15_000;

export class BatchTender implements LoopBody<Tended> {
  readonly name = "batch-tender";
  readonly #store: { readonly batches: Pick<BatchStore, "tend"> };
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #wake = new Wakeup();

  constructor({ store, clock, log }: {
    readonly store: { readonly batches: Pick<BatchStore, "tend"> };
    readonly clock: Clock;
    readonly log: Log;
  }) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
  }

  /** Works soon: nodes of flows have ended here. */
  readonly wake = (): void => this.#wake.ring();

  /** Works on one part. */
  async step(): Promise<Tended> {
    const tended = await this.#store.batches.tend(TEND_LIMIT);
    if (tended.abandoned > 0) {
      this.#log.warn("Abandoned batches that were not closed in time", { batches: tended.abandoned });
    }
    return tended;
  }

  /** Rests unless more is due. */
  async rest({ more }: Tended, signal: AbortSignal): Promise<void> {
    if (!more) await this.#wake.wait(signal, this.#clock, INTERVAL_MS);
  }
}
