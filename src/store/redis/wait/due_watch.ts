/**
 * Waits until a job is due earlier than the earliest known one. Our scripts announce such jobs at once. Those that Sidekiq's
 * clients store are found by reading the heads of the sets once a second.
 *
 * @module
 */
import { SETS } from "../keys.ts";
import type { ReconnectingClient } from "../client/reconnecting_client.ts";
import type { WakeChannel } from "./wake_channel.ts";

const POLL_INTERVAL_MS = 1_000;
/** Scores are seconds. Their thousandfold isn't always a whole number. */
const ROUNDING_MS = 1;

/** Waits for earlier due times. */
export class DueWatch {
  readonly #client: ReconnectingClient;
  readonly #channel: WakeChannel;
  #known: number | undefined;

  constructor(client: ReconnectingClient, channel: WakeChannel) {
    this.#client = client;
    this.#channel = channel;
  }

  /** Sets the earliest due time as of now, by the store's clock; infinite if no job is scheduled. */
  setEarliest(at: number): void {
    this.#known = at;
  }

  /** Resolves when a job is due earlier than the earliest known one, or when `stop` aborts. */
  async wait(stop: AbortSignal): Promise<void> {
    let known = this.#known;
    for (;;) {
      const done = new AbortController();
      // Listen first, then read: a message in between must not be missed.
      const woken = this.#channel.wait("due", AbortSignal.any([stop, done.signal]), POLL_INTERVAL_MS);
      const earliest = await this.#earliest();
      known ??= earliest;
      if (stop.aborted || earliest !== undefined && known !== undefined && earliest < known - ROUNDING_MS) {
        done.abort();
        await woken;
        return;
      }
      await woken;
      if (stop.aborted) return;
    }
  }

  /** Returns the earliest due time; undefined while Redis is unreachable. */
  async #earliest(): Promise<number | undefined> {
    try {
      const heads = await Promise.all(
        [SETS.retry, SETS.scheduled].map((set) => this.#client.call(["ZRANGE", set, "0", "0", "WITHSCORES"])),
      ) as [string, number][][];
      return Math.min(...heads.map(([head]) => head ? head[1] * 1000 : Infinity));
    } catch {
      return undefined;
    }
  }
}
