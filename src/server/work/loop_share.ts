/**
 * Shares the event loop between handlers and sockets. Handlers that never await run one after the other: on SQLite, whose calls
 * need no socket, nothing would make the loop look at its sockets in between, and requests would wait for seconds. When
 * handlers have held the loop for {@linkcode MAX_HELD_MS}, the processors wait for it in line.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";

/** Handlers hold the loop for this long, or for one call. A turn costs some 10 ms, because it stores outcomes: with 25 ms, such jobs ran 13 % slower. */
const MAX_HELD_MS = 200;
/** A timer, because the loop looks at its sockets only now and then while immediate callbacks wait. */
const POLL_MS = 1;

/** Makes processors wait while the loop looks at its sockets. */
export class LoopShare {
  readonly #clock: Clock;
  #heldMs = 0;
  #line: (() => void)[] = [];
  #isPolling = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes that the call of a handler has held the loop. */
  held(ms: number): void {
    this.#heldMs += ms;
    // Each after the one before has returned: together they would hold the loop for as long as all their calls take.
    if (this.#heldMs < MAX_HELD_MS) this.#line.shift()?.();
  }

  /** Returns a promise that resolves when a processor may continue; undefined if it may at once. */
  pass(): Promise<void> | undefined {
    if (this.#heldMs < MAX_HELD_MS && this.#line.length === 0) return undefined;
    return new Promise((resolve) => {
      this.#line.push(resolve);
      if (!this.#isPolling) void this.#poll();
    });
  }

  async #poll(): Promise<void> {
    this.#isPolling = true;
    while (this.#line.length > 0) {
      await this.#clock.sleep(POLL_MS);
      this.#heldMs = 0;
      this.#line.shift()?.();
    }
    this.#isPolling = false;
  }
}
