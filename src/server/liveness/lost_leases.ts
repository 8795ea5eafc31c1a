/**
 * Losses: finds out which jobs this process has lost. One that was frozen, or cut off from the store, for longer than its
 * heartbeat lasts counted as dead; what it had was given to others, and it must not go on with that.
 *
 *  1. A beat tells when this may have happened before it; so does an outcome that came too late. Then the store is asked,
 *     once, which leases are left. After such a beat no more can be lost.
 *  2. It is asked once more at the next beat: a taking may have been under way, and given away at once.
 *  3. The signals of the jobs that are lost abort with {@linkcode LeaseLost}. What they come to does not count.
 *
 * @module
 */
import { LeaseLost } from "../../job/errors.ts";
import type { Log } from "../../log/log.ts";
import { StoreError } from "../../store/port/errors.ts";
import type { Counters } from "../stats/counters.ts";
import type { JobStore } from "../../store/port/jobs.ts";

/** Whoever holds leases: processors and fetcher. */
export interface Holder {
  /** The tokens of the leases that it has. */
  readonly tokens: readonly string[];
  /** Drops those leases of the named ones that it has, and tells their jids; jobs that run are aborted. */
  lose(tokens: ReadonlySet<string>, reason: Error): string[];
}

/** Finds out what was lost. */
export class LostLeases {
  readonly #store: { readonly jobs: Pick<JobStore, "stillLeased"> };
  readonly #owner: string;
  readonly #holders: readonly Holder[];
  readonly #log: Log;
  readonly #counters: Counters;
  /** How often to look still. */
  #looks = 0;
  #looking: Promise<void> | undefined;

  constructor(
    options: {
      store: { readonly jobs: Pick<JobStore, "stillLeased"> };
      owner: string;
      holders: readonly Holder[];
      log: Log;
      counters: Counters;
    },
  ) {
    this.#store = options.store;
    this.#owner = options.owner;
    this.#holders = options.holders;
    this.#log = options.log;
    this.#counters = options.counters;
  }

  /** Hears of each beat that the store took; resolves when it has looked, if that was due. Never rejects. */
  async beat(lapsed: boolean): Promise<void> {
    if (lapsed) this.#looks = 2;
    if (this.#looks > 0) await this.look();
  }

  /** An outcome came too late: others may be lost, too. Resolves when it has looked; never rejects. */
  suspect(): Promise<void> {
    this.#looks = Math.max(this.#looks, 1);
    return this.look();
  }

  /** Asks which leases are left, and drops the others. Never rejects: what cannot be asked now is with the next beat. */
  look(): Promise<void> {
    return this.#looking ??= this.#look().finally(() => this.#looking = undefined);
  }

  /**
   * The same, for a caller that must not go on without an answer.
   *
   * @throws {StoreError} if the store doesn't answer
   */
  async dropLost(): Promise<void> {
    const tokens = this.#tokens();
    const held = new Set(tokens.length > 0 ? await this.#store.jobs.stillLeased(this.#owner, tokens) : []);
    // What was settled or given back while the store was asked is not held either, and no loss.
    const current = new Set(this.#tokens());
    this.#drop(tokens.filter((token) => !held.has(token) && current.has(token)));
  }

  async #look(): Promise<void> {
    try {
      await this.dropLost();
      this.#looks--;
    } catch (error) {
      // That the store is away, it says itself.
      if (error instanceof StoreError) return;
      this.#log.error("Could not find out which leases are left, asking again", {
        error,
        stack: (error as Error)?.stack,
      });
    }
  }

  #tokens(): string[] {
    return this.#holders.flatMap((holder) => holder.tokens);
  }

  #drop(lost: readonly string[]): void {
    if (lost.length === 0) return;
    this.#counters.leasesLost += lost.length;
    const jids = this.#holders.flatMap((holder) => holder.lose(new Set(lost), new LeaseLost()));
    this.#log.warn("Leases lost: this process was taken for dead, and these jobs run again elsewhere", {
      count: lost.length,
      jids: jids.slice(0, 10).join(" "),
    });
  }
}
