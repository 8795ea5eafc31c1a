/**
 * A host that requests are sent to: how many at once, and its circuit. A job that can't be sent now is snoozed, so that it
 * neither holds a processor nor uses an attempt.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { formatDuration } from "../../job/duration.ts";
import type { OpenCircuit } from "../../job/endpoint.ts";
import { Snooze } from "../../job/errors.ts";
import type { Log } from "../../log/log.ts";
import { Circuit } from "./circuit.ts";

/** A job above the limit returns after at least this time, and at most {@linkcode MAX_TURN_MS}. */
const MIN_TURN_MS = 500;
const MAX_TURN_MS = 60_000;
/** The assumed time of a request, until some have ended. */
const FIRST_TIME_MS = 100;
/** The weight of the last request in the average time. */
const LAST_SHARE = 0.2;
/** While a probe runs, other jobs return after this time, up to three times as much. */
const PROBE_PAUSE_MS = 1_000;

/** A longer error is cut in what workers report. */
const MAX_ERROR_CHARS = 200;

export interface HostOptions {
  /** `app.internal:8443`. */
  readonly name: string;
  /** How many requests are sent at once, at first. */
  readonly limit: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Returns a number from 0 up to 1. */
  readonly random?: () => number;
}

/** How a request has ended, for its host. Undefined says nothing about the host. */
export interface HostEnd {
  readonly isAlive?: boolean;
  readonly error?: string;
}

/** Classes of a host that its circuit names. */
const MAX_CLASSES = 20;

export class Host {
  /** How many requests are sent at once. Those in flight above a smaller limit end as before. */
  limit: number;
  readonly #options: HostOptions;
  readonly #random: () => number;
  readonly #circuit: Circuit;
  #active = 0;
  #averageMs = FIRST_TIME_MS;
  /** When the last job above the limit returns, on the monotonic clock. */
  #lastTurn = 0;
  readonly #classes = new Set<string>();
  #openSince: number | undefined;
  #error = "";

  constructor(options: HostOptions) {
    this.limit = options.limit;
    this.#options = options;
    this.#random = options.random ?? Math.random;
    this.#circuit = new Circuit({ clock: options.clock, onChange: (state, openMs) => this.#changed(state, openMs) });
  }

  /** Its circuit; undefined while that is closed. */
  get openCircuit(): OpenCircuit | undefined {
    const { state, failures } = this.#circuit;
    if (state === "closed") return undefined;
    return {
      host: this.#options.name,
      state,
      failures,
      since: this.#openSince!,
      error: this.#error.slice(0, MAX_ERROR_CHARS),
      classes: [...this.#classes],
    };
  }

  /** Notes a class whose jobs are sent to it. */
  serve(className: string): void {
    if (this.#classes.size < MAX_CLASSES) this.#classes.add(className);
  }

  /**
   * Sends a request, and notes how it ended.
   *
   * @throws {Snooze} if no request may be sent now
   */
  async run<Result>(send: (ended: (end: HostEnd) => void) => Promise<Result>): Promise<Result> {
    const { clock, name } = this.#options;
    const { limit } = this;
    const circuit = this.#circuit;
    if (!circuit.admits) {
      const { waitMs } = circuit;
      // Spread, so that the host isn't flooded when it is back.
      const delayMs = waitMs > 0 ? waitMs * (1 + this.#random() / 2) : PROBE_PAUSE_MS * (1 + 2 * this.#random());
      throw snooze(delayMs, `the circuit of ${name} is open: ${this.#error}`);
    }
    if (this.#active >= limit) {
      throw snooze(this.#turn(), `${name} has ${limit === 1 ? "a request" : `${limit} requests`} in flight, its limit`);
    }
    const isProbe = circuit.begin();
    const sentAt = clock.monotonic();
    let end: HostEnd = {};
    this.#active++;
    try {
      return await send((how) => end = how);
    } finally {
      this.#active--;
      const tookMs = clock.monotonic() - sentAt;
      this.#averageMs += LAST_SHARE * (tookMs - this.#averageMs);
      if (end.error !== undefined) this.#error = end.error;
      circuit.end(isProbe, end.isAlive);
    }
  }

  /** Returns the delay of a job above the limit: such jobs return one after the other, as fast as the host answers. */
  #turn(): number {
    const now = this.#options.clock.monotonic();
    this.#lastTurn = Math.max(now + MIN_TURN_MS, this.#lastTurn + this.#averageMs / this.limit);
    this.#lastTurn = Math.min(this.#lastTurn, now + MAX_TURN_MS);
    return this.#lastTurn - now;
  }

  #changed(state: "open" | "closed", openMs: number): void {
    const { clock, log, name } = this.#options;
    if (state === "closed") {
      this.#openSince = undefined;
      log.info("Circuit closed: the host answers again", { host: name });
      return;
    }
    const isFirst = this.#openSince === undefined;
    this.#openSince ??= clock.now();
    const fields = {
      host: name,
      failures: this.#circuit.failures,
      retryIn: formatDuration(openMs),
      error: this.#error,
    };
    if (isFirst) log.warn("Circuit opened: requests to a host keep failing, and its jobs wait", fields);
    else log.info("Circuit still open", fields);
  }
}

/** Returns a snooze with a reason. */
export function snooze(delayMs: number, reason: string): Snooze {
  const error = new Snooze(`${Math.ceil(delayMs)}ms`);
  error.message = `${error.message}: ${reason}`;
  return error;
}
