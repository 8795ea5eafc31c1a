/**
 * Logs an outage of the store once, not once per component.
 *
 * @module
 */
import type { Log, LogLevel } from "../log/log.ts";
import type { StepOutage } from "../steps/services.ts";
import { StoreError } from "../store/port/errors.ts";

/** A component that the store fails. */
interface Failing {
  /** The level at which its first failure was logged. */
  readonly level: LogLevel;
  /** The number of heartbeats at the start of this period. */
  readonly beats: number;
  /** Failures so far with heartbeats before them. */
  readonly periods: number;
}

/** A component fails alone after this many failures with heartbeats before them. */
const MIN_PERIODS = 2;

/**
 * Decides how loudly each component logs that the store fails. The Redis connection logs an outage itself. Any other
 * transient failure (a locked file, a full disk) is logged as a warning by the first component that meets it. The others log
 * it at debug, and each logs its recovery at the level at which it logged the failure.
 *
 * A component that keeps failing while heartbeats reach the store doesn't suffer from an outage: it warns.
 */
export class OutageLog {
  readonly #failing = new Map<string, Failing>();
  /** Heartbeats that reached the store. */
  #beats = 0;
  readonly #storeLogs: boolean;

  /** @param storeUrl decides whether the store's connection logs outages; default: it doesn't */
  constructor(storeUrl = "") {
    this.#storeLogs = /^rediss?\b/.test(storeUrl);
  }

  /** Whether the store fails any component. */
  get isMet(): boolean {
    return this.#failing.size > 0;
  }

  has(component: string): boolean {
    return this.#failing.has(component);
  }

  /** Notes a failure, and returns the level to log it at. Each component warns of a failure that is not transient. */
  met(component: string, error: unknown): LogLevel {
    const isTransient = error instanceof StoreError && error.transient;
    const isLogged = isTransient && (this.isMet || this.#storeLogs && error.code === "unavailable");
    const level = isLogged ? "debug" : "warn";
    this.#failing.set(component, { level, beats: this.#beats, periods: 0 });
    return level;
  }

  /** Notes a heartbeat that reached the store. */
  beat(): void {
    this.#beats++;
  }

  /**
   * Notes that a component fails again, and returns whether it fails although heartbeats reach the store. That takes two
   * failures with heartbeats before each: during the first, the end of an outage may have reached only the heartbeat. The
   * first heartbeat of a period doesn't count, because it may have been sent before.
   */
  failsAgain(component: string): boolean {
    const failing = this.#failing.get(component);
    if (failing === undefined) return false;
    if (this.#beats - failing.beats <= 1) return failing.periods >= MIN_PERIODS;
    const periods = failing.periods + 1;
    this.#failing.set(component, { ...failing, beats: this.#beats, periods });
    return periods >= MIN_PERIODS;
  }

  /** Notes that a failing component has warned: it logs its recovery at that level. */
  warns(component: string): void {
    const failing = this.#failing.get(component);
    if (failing) this.#failing.set(component, { ...failing, level: "warn" });
  }

  /** Notes that the store works for a component. Returns the level to log it at; undefined if no failure was logged. */
  over(component: string): LogLevel | undefined {
    const level = this.#failing.get(component)?.level;
    this.#failing.delete(component);
    return level;
  }
}

export interface HeartbeatLogOptions {
  readonly name: string;
  readonly log: Log;
  readonly outage: OutageLog;
}

/** Logs for the heartbeat's thread, whose connection doesn't log. */
export class HeartbeatLog {
  readonly #options: HeartbeatLogOptions;
  /** Heartbeats in a row that did not reach the store. */
  #failing = 0;

  constructor(options: HeartbeatLogOptions) {
    this.#options = options;
  }

  /** Notes a heartbeat that reached the store. */
  reached(): void {
    const { name, log, outage } = this.#options;
    if (this.#failing > 0) log[outage.over(name) ?? "debug"]("Heartbeat reaches the store again");
    this.#failing = 0;
    outage.beat();
  }

  /** Notes a heartbeat that did not. Warns at the second one, if no other component has met the outage. */
  failed(error: string): void {
    const { name, log, outage } = this.#options;
    this.#failing++;
    if (this.#failing === 1) log.debug("Heartbeat does not reach the store", { error });
    else if (!outage.isMet) log[outage.met(name, undefined)]("Heartbeat does not reach the store", { error });
  }
}

/** The name of steps in the outage log. */
const STEPS = "steps";

/** Logs once that steps of a worker's jobs wait for a store that fails, however many jobs wait. */
export class LoggedStepOutage implements StepOutage {
  readonly #log: Log;
  readonly #outage: OutageLog;
  /** Calls that are being repeated. */
  #waiting = 0;

  constructor(log: Log, outage: OutageLog) {
    this.#log = log;
    this.#outage = outage;
  }

  begin(error: StoreError): void {
    if (this.#waiting++ > 0) return;
    this.#log[this.#outage.met(STEPS, error)]("Store failed, retrying", { error: error.message });
  }

  end(hasReplied: boolean): void {
    if (--this.#waiting > 0) return;
    const level = this.#outage.over(STEPS);
    if (hasReplied) this.#log[level ?? "warn"]("Working again");
  }
}
