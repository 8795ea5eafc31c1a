/**
 * Logs when heartbeats don't reach the store, and when they reach it again: each outage once.
 *
 * @module
 */
import type { Log } from "../../log/log.ts";
import type { OutageLog } from "../component.ts";

/** Options of {@linkcode HeartbeatLog}. */
export interface HeartbeatLogOptions {
  /** The component. */
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
