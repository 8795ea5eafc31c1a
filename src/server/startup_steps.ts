/**
 * The steps of a start: the log names a step that hangs (no task runs yet that a dump could show), and a stop request ends the
 * start at once, whatever it waits for.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import type { Log } from "../log/log.ts";
import type { Inbox } from "./control/signals.ts";

/** A step that takes this long is logged, and again each time this much has passed. */
export const NAMED_AFTER_MS = 10_000;

/** A stop was requested during the start. */
export class StartEnded extends Error {
  override readonly name = "StartEnded";

  /** @param by where the request came from: a signal's name */
  constructor(step: string, by: string) {
    super(`Stopped by ${by} while starting (${step})`);
  }
}

export interface StartupStepsOptions {
  readonly clock: Clock;
  readonly log: Pick<Log, "warn">;
  readonly inbox: Inbox;
}

export class StartupSteps {
  readonly #options: StartupStepsOptions;

  constructor(options: StartupStepsOptions) {
    this.#options = options;
  }

  /**
   * Waits for a step, and returns its result.
   *
   * @throws {StartEnded} if a stop is requested meanwhile; the step continues, and its result is ignored
   */
  async step<Result>(name: string, result: Result | Promise<Result>): Promise<Result> {
    const over = new AbortController();
    void this.#watch(name, over.signal);
    try {
      return await Promise.race([result, this.#ended(name)]);
    } finally {
      over.abort();
    }
  }

  async #ended(step: string): Promise<never> {
    const { by } = await this.#options.inbox.stopAsked;
    throw new StartEnded(step, by);
  }

  async #watch(step: string, over: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    const since = clock.monotonic();
    for (;;) {
      await clock.sleep(NAMED_AFTER_MS, over);
      if (over.aborted) return;
      log.warn("Still starting", { step, seconds: Math.round((clock.monotonic() - since) / 1_000) });
    }
  }
}
