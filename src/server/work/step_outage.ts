/**
 * Logs that steps wait for a store that fails: once, however many jobs wait.
 *
 * @module
 */
import type { Log } from "../../log/log.ts";
import type { StepOutage } from "../../steps/services.ts";
import type { StoreError } from "../../store/port/errors.ts";
import type { OutageLog } from "../component.ts";

const NAME = "steps";

/** Logs an outage of the store for the steps of a worker's jobs. */
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
    this.#log[this.#outage.met(NAME, error)]("Store failed, retrying", { error: error.message });
  }

  end(hasReplied: boolean): void {
    if (--this.#waiting > 0) return;
    const level = this.#outage.over(NAME);
    if (hasReplied) this.#log[level ?? "warn"]("Working again");
  }
}
