/**
 * The flow spreader: pushes and cancels nodes of flows that the end of an earlier node left for later, because there were
 * many. Several workers may do so at once: each part is one step of the store.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { type FlowStore, SPREAD_LIMIT } from "../../store/port/flows.ts";
import type { LoopBody } from "../component.ts";
import { Wakeup } from "../work/wakeup.ts";

/** Nodes that another worker or an operator left are found this late. */
const INTERVAL_MS = 15_000;

export class FlowSpreader implements LoopBody<boolean> {
  readonly name = "flow-spreader";
  readonly #store: { readonly flows: Pick<FlowStore, "spread"> };
  readonly #clock: Clock;
  readonly #wake = new Wakeup();

  constructor(
    { store, clock }: { readonly store: { readonly flows: Pick<FlowStore, "spread"> }; readonly clock: Clock },
  ) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Looks soon: nodes of flows have ended here. */
  readonly wake = (): void => this.#wake.ring();

  /** Works on one part. Returns whether more is left. */
  step(): Promise<boolean> {
    return this.#store.flows.spread(SPREAD_LIMIT);
  }

  /** Rests unless more is left. */
  async rest(hasMore: boolean, signal: AbortSignal): Promise<void> {
    if (!hasMore) await this.#wake.wait(signal, this.#clock, INTERVAL_MS);
  }
}
