/**
 * Whether this process may take others for dead. Who could not say himself that he lives, because the store was away or
 * the whole machine stood still, must suppose that the others could not either: he waits until he has been saying so again
 * for as long as a heartbeat counts, and by then they have, if they live.
 *
 * @module
 */
import type { Clock } from "../clock.ts";

/** Watches the beats of this process. */
export class Steadiness {
  readonly #clock: Clock;
  readonly #ttlMs: number;
  /** At the last beat: by the wall, and by the clock that never jumps but may stand still while the machine sleeps. */
  #last: { readonly now: number; readonly monotonic: number } | undefined;
  /** When beats began again after a gap. */
  #since = -Infinity;

  /** @param ttlMs for so long a beat counts */
  constructor(clock: Clock, ttlMs: number) {
    this.#clock = clock;
    this.#ttlMs = ttlMs;
  }

  /** The store took a beat. */
  beat(): void {
    if (this.#lapsed()) this.#since = this.#clock.monotonic();
    this.#last = { now: this.#clock.now(), monotonic: this.#clock.monotonic() };
  }

  /** False from a gap in the beats on, until they have gone on again for as long as one counts. */
  get steady(): boolean {
    return !this.#lapsed() && this.#clock.monotonic() - this.#since >= this.#ttlMs;
  }

  #lapsed(): boolean {
    if (this.#last === undefined) return false;
    const { now, monotonic } = this.#last;
    return Math.max(this.#clock.now() - now, this.#clock.monotonic() - monotonic) >= this.#ttlMs;
  }
}
