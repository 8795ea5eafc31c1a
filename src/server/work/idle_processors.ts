/**
 * The processors of a worker that wait for a job, in the order in which they came.
 *
 * @module
 */
import type { Unstarted } from "./unstarted.ts";

/** Waits on behalf of processors. */
export class IdleProcessors {
  #waiting: ((job: Unstarted | undefined) => void)[] = [];

  /** How many wait. */
  get count(): number {
    return this.#waiting.length;
  }

  /** Resolves with the job that {@linkcode serve} gives; with undefined when `signal` aborts before. */
  wait(signal: AbortSignal): Promise<Unstarted | undefined> {
    return new Promise((resolve) => {
      const settle = (job: Unstarted | undefined) => {
        signal.removeEventListener("abort", leave);
        resolve(job);
      };
      const leave = () => {
        this.#waiting = this.#waiting.filter((one) => one !== settle);
        resolve(undefined);
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#waiting.push(settle);
    });
  }

  /** Gives a job to the processor that has waited longest. There must be one. */
  serve(job: Unstarted): void {
    this.#waiting.shift()!(job);
  }
}
