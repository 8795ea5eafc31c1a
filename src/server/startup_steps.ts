/**
 * The steps of a start: one that hangs names itself (nothing else would, because no task runs yet that a dump could show),
 * and a stop that is asked for ends the start at once, whatever it waits for.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import type { Log } from "../log/log.ts";
import type { Inbox } from "./control/signals.ts";

/** A step that takes so long is named, and again each time as much has passed. */
export const NAMED_AFTER_MS = 10_000;

/** A stop was asked for before the start was over. */
export class StartEnded extends Error {
  /** Told apart by name. */
  override readonly name = "StartEnded";

  /** @param by who asked: a signal's name */
  constructor(step: string, by: string) {
    super(`Asked to stop by ${by} while starting (${step})`);
  }
}

/** What the steps are told. */
export interface StartupStepsOptions {
  /** Says when to speak. */
  readonly clock: Clock;
  readonly log: Pick<Log, "warn">;
  /** Where a stop is asked for. */
  readonly inbox: Inbox;
}

/** Says in which step a start is, and ends it when that is asked for. */
export class StartupSteps {
  readonly #options: StartupStepsOptions;

  constructor(options: StartupStepsOptions) {
    this.#options = options;
  }

  /**
   * Waits for a step; whatever it comes to is the caller's.
   *
   * @throws {StartEnded} when a stop is asked for meanwhile; the step goes on, and nobody waits for it
   */
  async step<Result>(name: string, doing: Result | Promise<Result>): Promise<Result> {
    const over = new AbortController();
    void this.#watch(name, over.signal);
    try {
      return await Promise.race([doing, this.#ended(name)]);
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
