/**
 * Work that keeps a store small and fast, and that no caller waits for.
 *
 * @module
 */
import type { HealthFinding } from "../admin/health.ts";
import { StoreError } from "../port/errors.ts";

/** Runs upkeep. A failure is logged once, until it succeeds, and is a finding of `jobs doctor` meanwhile. */
export class Upkeep {
  readonly #log: (message: string) => void;
  /** The failures in a row of each kind of work. */
  readonly #failures = new Map<string, { readonly message: string; readonly count: number }>();

  #isClosed = false;

  constructor(log: (message: string) => void) {
    this.#log = log;
  }

  /** Runs some work, which is a noun: `the fold of sizes`. Never rejects. */
  async run(what: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
      this.#failures.delete(what);
    } catch (error) {
      if (this.#isClosed) return;
      const { message } = error as Error;
      const count = (this.#failures.get(what)?.count ?? 0) + 1;
      this.#failures.set(what, { message, count });
      // Other calls report an outage, and the work is done after it.
      if (count === (isOutage(error) ? 2 : 1)) this.#log(`The upkeep of the store fails: ${what}: ${message}`);
    }
  }

  /** Reports nothing from now on: the store closes, which ends what runs. */
  close(): void {
    this.#isClosed = true;
  }

  /** The kinds of work whose latest attempt failed. */
  get findings(): HealthFinding[] {
    return Array.from(this.#failures, ([what, { message }]) => ({
      message: `the upkeep of the store fails: ${what}: ${message}`,
      cure: "mend what the server reports; until then the tables grow, and each count takes longer",
      isAlert: true,
    }));
  }
}

function isOutage(error: unknown): boolean {
  return error instanceof StoreError && error.code === "unavailable";
}
