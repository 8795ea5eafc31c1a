/**
 * A circuit breaker: stops requests to a host that fails, and lets a single one probe it from time to time.
 *
 *  - `closed`: requests are sent. After {@linkcode MAX_FAILURES} failures in a row it opens.
 *  - `open`: no request is sent until a time.
 *  - `halfOpen`: after that time, one request is sent. If it fails, the circuit opens again, for twice as long.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";

/** A circuit opens after this many failures in a row. */
export const MAX_FAILURES = 5;
/** How long a circuit stays open at first. */
export const MIN_OPEN_MS = 10_000;
export const MAX_OPEN_MS = 300_000;

export type CircuitState = "closed" | "open" | "halfOpen";

export interface CircuitOptions {
  readonly clock: Clock;
  /** Called when it opens, for this long, or closes after it was open. */
  readonly onChange: (state: "open" | "closed", openMs: number) => void;
}

export class Circuit {
  readonly #options: CircuitOptions;
  #failures = 0;
  #openMs = 0;
  /** On the monotonic clock; undefined while it is closed. */
  #openUntil: number | undefined;
  #isProbing = false;

  constructor(options: CircuitOptions) {
    this.#options = options;
  }

  get state(): CircuitState {
    if (this.#openUntil === undefined) return "closed";
    return this.waitMs > 0 ? "open" : "halfOpen";
  }

  /** The failures in a row. */
  get failures(): number {
    return this.#failures;
  }

  /** How long it stays open. */
  get waitMs(): number {
    return this.#openUntil === undefined ? 0 : Math.max(0, this.#openUntil - this.#options.clock.monotonic());
  }

  /** Whether a request may be sent now. */
  get admits(): boolean {
    return this.state === "closed" || (this.state === "halfOpen" && !this.#isProbing);
  }

  /** Notes that a request is sent. Returns whether it is the probe of a half-open circuit. */
  begin(): boolean {
    return this.#isProbing = this.state === "halfOpen";
  }

  /**
   * Notes how a request has ended. One that was sent before the circuit opened changes nothing.
   *
   * @param isAlive whether the host has answered; undefined if the request says nothing about it
   */
  end(isProbe: boolean, isAlive: boolean | undefined): void {
    const { clock, onChange } = this.#options;
    if (isProbe) this.#isProbing = false;
    const wasClosed = this.#openUntil === undefined;
    if (isAlive === undefined || isProbe === wasClosed) return;
    if (isAlive) {
      this.#failures = 0;
      this.#openUntil = undefined;
      if (!wasClosed) onChange("closed", 0);
      return;
    }
    this.#failures++;
    if (wasClosed && this.#failures < MAX_FAILURES) return;
    this.#openMs = wasClosed ? MIN_OPEN_MS : Math.min(MAX_OPEN_MS, 2 * this.#openMs);
    this.#openUntil = clock.monotonic() + this.#openMs;
    onChange("open", this.#openMs);
  }
}
