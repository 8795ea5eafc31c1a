/**
 * The steps of a start, so that one that hangs names itself: nothing else would, because no task runs yet that a dump
 * could show.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";

/** A step that takes so long is named, and again each time as much has passed. */
export const NAMED_AFTER_MS = 10_000;

/** Says in which step a start is. */
export class Starting {
  readonly #clock: Clock;
  readonly #log: Log;

  /** @param options.clock says when to speak */
  constructor(options: { clock: Clock; log: Log }) {
    this.#clock = options.clock;
    this.#log = options.log;
  }

  /** Waits for a step; whatever it comes to is the caller's. */
  async step<Result>(name: string, doing: Result | Promise<Result>): Promise<Result> {
    const over = new AbortController();
    void this.#watch(name, over.signal);
    try {
      return await doing;
    } finally {
      over.abort();
    }
  }

  async #watch(step: string, over: AbortSignal): Promise<void> {
    const since = this.#clock.monotonic();
    for (;;) {
      await this.#clock.sleep(NAMED_AFTER_MS, over);
      if (over.aborted) return;
      this.#log.warn("Still starting", { step, seconds: Math.round((this.#clock.monotonic() - since) / 1_000) });
    }
  }
}
