/**
 * Lost leases: finds out which jobs this worker has lost. A worker that was frozen, or cut off from the store, for longer than
 * its heartbeat timeout was offline; its jobs were given to others, and it must not continue with them.
 *
 *  1. A heartbeat reports that this may have happened before it, and so does an outcome that came too late. Then the store is
 *     asked which leases are left. After such a heartbeat no more can be lost.
 *  2. A taking that was being answered at that moment may bring leases that are lost already. None of them starts before the
 *     lease guard has asked again (`lease_guard.ts`).
 *  3. The signals of lost jobs abort with {@linkcode LeaseLost}. Their outcomes don't count.
 *
 * @module
 */
import { LeaseLost } from "../../job/errors.ts";
import type { Log } from "../../log/log.ts";
import { StoreError } from "../../store/port/errors.ts";
import type { JobStore } from "../../store/port/jobs.ts";
import type { Counters } from "../stats/counters.ts";

/** A component that has leases: the manager, the fetcher. */
export interface Holder {
  /** The tokens of its leases. */
  readonly tokens: readonly string[];
  /** Drops those of its leases that are named, and returns their jids. Running jobs are aborted. */
  lose(tokens: ReadonlySet<string>, reason: Error): string[];
}

export interface LostLeasesOptions {
  readonly store: { readonly jobs: Pick<JobStore, "stillLeased"> };
  readonly worker: string;
  readonly log: Log;
  readonly counters: Counters;
}

export class LostLeases {
  readonly #options: LostLeasesOptions;
  readonly #holders: Holder[] = [];
  /** The store must be asked. */
  #isDue = false;
  /** Heartbeats that the store accepted. */
  #beats = 0;
  /** The current question, and how many heartbeats were accepted before it. */
  #asking: { readonly beats: number; readonly answered: Promise<void> } | undefined;

  constructor(options: LostLeasesOptions) {
    this.#options = options;
  }

  /** Adds a component whose leases may be lost. */
  watch(holder: Holder): void {
    this.#holders.push(holder);
  }

  /**
   * Notes a heartbeat that the store accepted, and asks the store if that is due. Never rejects: if the store fails, the next
   * heartbeat repeats the question.
   *
   * @param lapsed whether the worker may have been offline before it
   */
  async beat(lapsed: boolean): Promise<void> {
    this.#beats++;
    if (lapsed) this.#isDue = true;
    if (this.#isDue) await this.#ask();
  }

  /** Notes an outcome that came too late: other leases may be lost, too. Never rejects. */
  async suspect(): Promise<void> {
    this.#isDue = true;
    await this.#ask();
  }

  /**
   * Asks which leases are left, and drops the others. Joins a question that was asked after the last heartbeat.
   *
   * @throws {StoreError} if the store doesn't answer
   */
  dropLost(): Promise<void> {
    if (this.#asking?.beats !== this.#beats) {
      const asking = {
        beats: this.#beats,
        answered: this.#dropLost().finally(() => {
          if (this.#asking === asking) this.#asking = undefined;
        }),
      };
      this.#asking = asking;
    }
    return this.#asking!.answered;
  }

  /** Resolves when the current question is answered, if there is one. Never rejects. */
  async answered(): Promise<void> {
    await this.#asking?.answered.catch(() => {});
  }

  async #dropLost(): Promise<void> {
    const { store, worker } = this.#options;
    const tokens = this.#tokens();
    const left = new Set(tokens.length > 0 ? await store.jobs.stillLeased(worker, tokens) : []);
    // Leases that were settled or released while the store replied are not lost.
    const current = new Set(this.#tokens());
    this.#drop(tokens.filter((token) => !left.has(token) && current.has(token)));
  }

  async #ask(): Promise<void> {
    const beats = this.#beats;
    try {
      await this.dropLost();
      // A lapse that was reported in the meantime needs another answer.
      if (this.#beats === beats) this.#isDue = false;
    } catch (error) {
      // The heartbeat reports an outage.
      if (error instanceof StoreError) return;
      this.#options.log.error("Can't read which leases are left, retrying", {
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
    const { log, counters } = this.#options;
    counters.leasesLost += lost.length;
    const jids = this.#holders.flatMap((holder) => holder.lose(new Set(lost), new LeaseLost()));
    log.warn("Leases lost: this worker was offline, and these jobs run again elsewhere", {
      count: lost.length,
      jids: jids.slice(0, 10).join(" "),
    });
  }
}
