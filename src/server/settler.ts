/**
 * The settler: what finished jobs leave behind goes to the store in batches. Everything that has finished since the
 * last call goes in one; while the store is away, outcomes are kept and stored afterwards.
 *
 * If the process dies before an outcome is stored, its lease is still in the store, and the job runs again elsewhere:
 * at least once.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import { parsePayload } from "../job/job.ts";
import type { Log } from "../log.ts";
import { isGone, StoreError } from "../store/errors.ts";
import type { Outcome, Store } from "../store/store.ts";
import { Outage } from "./outage.ts";
import type { Tally } from "./tally.ts";

/** At most so many outcomes in one call: a store's step must stay short. */
const LARGEST_BATCH = 1_000;
const RETRY_MS = 500;
/** After a call it gathers for so long, where little has come in meanwhile: a call costs the store a write to disk. */
const GATHER_MS = 2;
/** So many are enough for a call at once. */
const ENOUGH = 100;

/** Collects outcomes and stores them. */
export class Settler {
  readonly #store: Store;
  readonly #owner: string;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #tally: Tally;
  readonly #onLost: () => void;
  readonly #fail: (error: StoreError) => void;
  readonly #outage: Outage;
  #pending: Outcome[] = [];
  #underWay = 0;
  #flushing: Promise<void> | undefined;
  #abandoned = false;
  readonly #giveUp = new AbortController();

  /**
   * @param options.onLost called when an outcome came too late: its lease was another's by then
   * @param options.fail called when the store is gone, and with it the leases
   */
  constructor(
    options: {
      store: Store;
      owner: string;
      clock: Clock;
      log: Log;
      tally: Tally;
      onLost?: () => void;
      fail?: (error: StoreError) => void;
      outage?: Outage;
    },
  ) {
    this.#store = options.store;
    this.#owner = options.owner;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#tally = options.tally;
    this.#onLost = options.onLost ?? (() => {});
    this.#fail = options.fail ?? (() => {});
    this.#outage = options.outage ?? new Outage();
  }

  /** Outcomes that are not stored yet. */
  get unsettled(): number {
    return this.#pending.length + this.#underWay;
  }

  /** Takes an outcome; it is stored soon. */
  add(outcome: Outcome): void {
    this.#pending.push(outcome);
    this.#flushing ??= this.#run();
  }

  /** Resolves when everything added so far is stored, or given up. */
  async flush(): Promise<void> {
    while (this.#flushing) await this.#flushing;
  }

  /** Stops trying: what is not stored stays leased, and runs again when this process is gone. */
  abandon(): void {
    this.#abandoned = true;
    this.#giveUp.abort();
  }

  async #run(): Promise<void> {
    // The rest of this turn may finish more jobs: they go in the same call.
    await this.#clock.turn();
    while (this.#pending.length > 0 && !this.#abandoned) {
      const batch = this.#pending.splice(0, LARGEST_BATCH);
      this.#underWay = batch.length;
      await this.#settle(batch);
      this.#underWay = 0;
      if (this.#pending.length < ENOUGH) await this.#clock.sleep(GATHER_MS);
    }
    this.#flushing = undefined;
  }

  async #settle(batch: readonly Outcome[]): Promise<void> {
    for (let failures = 0; !this.#abandoned; failures++) {
      try {
        const result = await this.#store.settle(this.#owner, batch);
        const told = this.#outage.over("settler");
        if (told !== undefined) this.#log[told]("Outcomes are stored again");
        return this.#report(batch, result);
      } catch (error) {
        // Whoever gave up has said so.
        if (this.#abandoned) return;
        if (isGone(error)) return this.#fail(error);
        const transient = error instanceof StoreError && error.transient;
        if (failures === 0) {
          const level = this.#outage.met("settler", error);
          this.#log[level]("Outcomes not stored, trying again", {
            count: batch.length,
            error: (error as Error).message,
          });
        }
        if (!transient && batch.length > 1) {
          // One that cannot be stored must not hold up the others.
          for (const outcome of batch) await this.#settle([outcome]);
          return;
        }
        if (!transient && failures >= 3) {
          this.#outage.over("settler");
          this.#log.error("Outcome given up; the job runs again when this process has ended", {
            token: batch[0]?.token,
            error: (error as Error).message,
          });
          return;
        }
        await this.#clock.sleep(RETRY_MS * (0.5 + Math.random()), this.#giveUp.signal);
      }
    }
  }

  #report(batch: readonly Outcome[], result: { readonly lost: readonly string[]; readonly dropped: number }): void {
    this.#tally.leasesLost += result.lost.length;
    this.#tally.deadDropped += result.dropped;
    if (result.lost.length > 0) {
      this.#log.warn("Leases lost: this process was taken for dead, and these jobs run again elsewhere", {
        count: result.lost.length,
        ...jidsOf(batch, result.lost),
      });
      this.#onLost();
    }
    if (result.dropped > 0) {
      this.#log.warn("Dead jobs dropped: over the limit of number or age", { count: result.dropped });
    }
  }
}

/** The jids of outcomes, as far as these know: one of a job that left no record may not. */
function jidsOf(batch: readonly Outcome[], tokens: readonly string[]): { readonly jids?: string } {
  const lost = new Set(tokens);
  const jids = batch.filter(({ token }) => lost.has(token)).flatMap((outcome) => {
    if ("record" in outcome && outcome.record !== undefined) return outcome.record.jid;
    return "payload" in outcome && outcome.payload !== undefined ? parsePayload(outcome.payload)?.jid || [] : [];
  });
  return jids.length === 0 ? {} : { jids: jids.slice(0, 10).join(" ") };
}
