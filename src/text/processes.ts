/**
 * Workers whose processes can't run, in sentences. Pure.
 *
 * @module
 */
import type { ProcessState } from "../processes.ts";

const TEXTS: Readonly<Record<ProcessState, readonly [one: string, several: string]>> = {
  ended: ["has ended without a stop", "have ended without a stop"],
  stopped: ["is stopped by a signal", "are stopped by a signal"],
};

/** Returns the state of one or several processes, as a clause that follows the subject. */
export function processText(state: ProcessState, count = 1): string {
  return TEXTS[state][count === 1 ? 0 : 1];
}

/** Returns when the cancelled jobs of a worker end whose process can't abort them. */
export function cancelText(worker: string, state: ProcessState): string {
  return `the process of worker ${worker} ${processText(state)}: its cancelled jobs end once its heartbeat has lapsed`;
}
