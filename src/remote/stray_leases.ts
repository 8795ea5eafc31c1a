/**
 * Leases of a worker that no program has. A program that can't reach its gateway continues at another one, here, with its worker ID. The
 * gateway that it left may not know that yet, and take another job for it. That job's worker lives, so no rescue would return it.
 *
 * A lease is a stray if it was unknown here at two looks in a row. While a take of this process isn't answered there is no look: its jobs
 * would be returned, and given to the program. Leases that the program didn't show when it registered count as unknown at a first look. They
 * aren't returned at once: the registration may have been on its way for long, while the program has registered elsewhere and runs these
 * jobs. A look follows a heartbeat of the program.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import type { JobStore } from "../store/port/jobs.ts";

/** The gateway that was left takes no more jobs after this time: a request for jobs waits for half a minute at most. */
const LOOKS_FOR_MS = 120_000;

export interface StrayLeasesOptions {
  readonly jobs: Pick<JobStore, "stillLeased" | "settle">;
  readonly worker: string;
  readonly clock: Clock;
  /** The tokens of the leases that are known; undefined while that isn't certain. */
  readonly known: () => readonly string[] | undefined;
  /** Those that the program hasn't shown. */
  readonly notShown: ReadonlySet<string>;
}

export class StrayLeases {
  readonly #options: StrayLeasesOptions;
  readonly #until: number;
  #suspects: ReadonlySet<string>;

  constructor(options: StrayLeasesOptions) {
    this.#options = options;
    this.#suspects = options.notShown;
    this.#until = options.clock.monotonic() + LOOKS_FOR_MS;
  }

  /**
   * Returns strays to the front of their queues; call it at an interval.
   *
   * @returns how many
   * @throws {StoreError}
   */
  async look(): Promise<number> {
    const { jobs, worker, clock, known } = this.#options;
    if (clock.monotonic() > this.#until) return 0;
    const before = this.#suspects;
    this.#suspects = new Set();
    if (known() === undefined) return 0;
    const leased = await jobs.stillLeased(worker);
    const ours = known();
    if (ours === undefined) return 0;
    const unknown = new Set(leased).difference(new Set(ours));
    const strays = [...unknown].filter((token) => before.has(token));
    this.#suspects = unknown;
    if (strays.length > 0) await jobs.settle(worker, strays.map((token) => ({ kind: "release", token })));
    return strays.length;
  }
}
