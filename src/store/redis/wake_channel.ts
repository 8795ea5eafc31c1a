/**
 * Our channel, on which scripts tell that a due time is earlier than those before, and that a queue is let go again.
 * It is heard over the connection for commands.
 *
 * @module
 */
import { systemClock } from "../../clock.ts";
import { WAKE_CHANNEL } from "./keys.ts";
import type { Link } from "./link.ts";

/** What is told on our channel. */
export class WakeChannel {
  readonly #link: Link;
  readonly #waiting = new Set<AbortController>();
  #listening = false;
  #heard = 0;

  constructor(link: Link) {
    this.#link = link;
  }

  /** How much was told so far: for {@linkcode wait}. */
  get heard(): number {
    return this.#heard;
  }

  /**
   * Resolves when something is told from now on, or was since that much was {@linkcode heard}; after `ms` anyhow; or when
   * `signal` aborts. Never rejects.
   */
  async wait(signal: AbortSignal, ms: number, heard = this.#heard): Promise<void> {
    if (heard !== this.#heard) return;
    const told = new AbortController();
    this.#waiting.add(told);
    if (!this.#listening) void this.#listen();
    await systemClock.sleep(ms, AbortSignal.any([signal, told.signal]));
    this.#waiting.delete(told);
  }

  async #listen(): Promise<void> {
    this.#listening = true;
    try {
      await this.#link.listen(WAKE_CHANNEL, () => {
        this.#heard++;
        for (const told of this.#waiting) told.abort();
      });
    } catch {
      // Without the channel (its permission is missing, or Redis is away) waits end by their time.
      this.#listening = false;
    }
  }
}
