/**
 * The settler: stores the outcomes of attempts, in chunks. Each call has all outcomes since the last call.
 *
 *  1. While the store is unreachable, locked or full, the settler keeps the outcomes and retries them.
 *  2. An outcome that the store rejects (a permission was revoked, a key has another type) is kept and retried, too. Its
 *     chunk is split, so that it doesn't delay the others.
 *  3. An outcome whose rows another transaction holds, such as an application's that stays open, is retried by itself. The others don't wait for it.
 *  4. While too many outcomes wait, the settler is behind, and the fetcher takes no jobs: their outcomes would only fill the
 *     memory, and all of these jobs would run again if the process died.
 *
 * If the process dies before an outcome is stored, the job's lease is still in the store, and the job runs again: at least
 * once.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { parsePayload } from "../../job/job.ts";
import type { Log } from "../../log/log.ts";
import { ByteBudget } from "../../store/port/batch_bytes.ts";
import { isGone, StoreError } from "../../store/port/errors.ts";
import type { Outcome } from "../../store/port/outcomes.ts";
import type { ServerStore } from "../../store/port/store.ts";
import { OutageLog } from "../outage_log.ts";
import type { Counters } from "../stats/counters.ts";
import { Wakeup } from "./wakeup.ts";

/** Maximum number of outcomes in one call, which is also limited by bytes: a step of the store must be short. */
const MAX_CHUNK_OUTCOMES = 1_000;
/** The settler is behind while more outcomes than this aren't stored. */
const MAX_UNSETTLED = 2_000;
/** Pause between attempts, before jitter. For rejected outcomes it doubles up to the second value. */
const RETRY_MS = 500;
const MAX_REJECTED_RETRY_MS = 2_000;
/** Maximum number of calls that search one chunk for the outcomes that the store rejects. */
const MAX_SPLIT_CALLS = 32;
/** Pause after a call during which few outcomes were added: each call costs the store a disk write. */
const GATHER_MS = 2;
/** From this many outcomes on, there is no pause. */
const MIN_CHUNK_OUTCOMES = 100;

export interface SettlerOptions {
  readonly store: ServerStore;
  readonly worker: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly counters: Counters;
  /** Called when an outcome came too late: another worker had the lease by then. */
  readonly onLost?: () => void;
  /** Called when the store has disappeared together with the leases. */
  readonly fail?: (error: StoreError) => void;
  readonly outage?: OutageLog;
  /** Called when nodes of flows have ended. */
  readonly onNodes?: () => void;
}

export class Settler {
  readonly #options: SettlerOptions;
  readonly #outage: OutageLog;
  #pending: Outcome[] = [];
  /** The chunk that is being stored. */
  #storing: readonly Outcome[] = [];
  /** Outcomes that the store rejected, to be retried from `#retryAt`. */
  #rejected: Outcome[] = [];
  /** Those of them that are being retried. */
  #retrying: Outcome[] = [];
  #retryAt = 0;
  #retryMs = RETRY_MS;
  #rejectionLogged = false;
  /** Outcomes whose rows another transaction holds. */
  #held: Outcome[] = [];
  /** Those of them that are being retried. */
  #retryingHeld: readonly Outcome[] = [];
  #retryingAll: Promise<void> | undefined;
  #flushing: Promise<void> | undefined;
  /** Rung when there is a new outcome. */
  readonly #wake = new Wakeup();
  readonly #giveUp = new AbortController();
  /** Called when it is no longer behind. */
  onCaughtUp: (() => void) | undefined;

  constructor(options: SettlerOptions) {
    this.#options = options;
    this.#outage = options.outage ?? new OutageLog();
  }

  /** Number of outcomes that are not stored. */
  get unsettled(): number {
    const held = this.#held.length + this.#retryingHeld.length;
    return this.#pending.length + this.#storing.length + this.#rejected.length + this.#retrying.length + held;
  }

  /** Whether too many outcomes are not stored. */
  get isBehind(): boolean {
    return this.unsettled > MAX_UNSETTLED;
  }

  /** Adds an outcome. It is stored soon. */
  add(outcome: Outcome): void {
    this.#pending.push(outcome);
    this.#flushing ??= this.#run();
    this.#wake.ring();
  }

  /** Resolves when every outcome is stored; with false after {@linkcode abandon}. */
  async flush(): Promise<boolean> {
    while (this.#flushing ?? this.#retryingAll) await (this.#flushing ?? this.#retryingAll);
    return !this.#abandoned;
  }

  /** Stops retrying. Jobs whose outcomes are not stored stay leased, and run again when this worker has deregistered or is offline. */
  abandon(): void {
    this.#giveUp.abort();
  }

  async #run(): Promise<void> {
    // Jobs that end in the rest of this turn share the call.
    await this.#options.clock.turn();
    while (!this.#abandoned) {
      const untilRetryMs = this.#retryAt - this.#options.clock.monotonic();
      if (this.#rejected.length > 0 && untilRetryMs <= 0) {
        await this.#retryRejected();
      } else if (this.#pending.length > 0) {
        this.#setAside(await this.#settle(takeChunk(this.#pending)));
        if (this.#pending.length < MIN_CHUNK_OUTCOMES) await this.#options.clock.sleep(GATHER_MS, this.#giveUp.signal);
      } else if (this.#rejected.length > 0) {
        await this.#wake.wait(this.#giveUp.signal, this.#options.clock, untilRetryMs);
      } else break;
    }
    this.#flushing = undefined;
  }

  get #abandoned(): boolean {
    return this.#giveUp.signal.aborted;
  }

  /** Retries rejected outcomes, until a whole chunk is rejected again. */
  async #retryRejected(): Promise<void> {
    this.#retrying = this.#rejected;
    this.#rejected = [];
    let chunk: readonly Outcome[] = [];
    let rejected: readonly Outcome[] = [];
    while (this.#retrying.length > 0 && !this.#abandoned && (chunk.length === 0 || rejected.length < chunk.length)) {
      chunk = takeChunk(this.#retrying);
      rejected = await this.#settle(chunk);
      this.#rejected.push(...rejected);
    }
    this.#rejected.push(...this.#retrying);
    this.#retrying = [];
    if (this.#abandoned) return;
    if (this.#rejected.length === 0) {
      this.#rejectionLogged = false;
      this.#options.log.info("Rejected outcomes are stored");
    }
    this.#retryMs = rejected.length < chunk.length ? RETRY_MS : Math.min(2 * this.#retryMs, MAX_REJECTED_RETRY_MS);
    this.#retryAt = this.#options.clock.monotonic() + withJitter(this.#retryMs);
  }

  /** Notes outcomes whose rows another transaction holds. They are retried, each chunk with pauses, while others are stored. */
  #hold(outcomes: readonly Outcome[]): void {
    this.#held.push(...outcomes);
    this.#retryingAll ??= this.#retryHeld().finally(() => this.#retryingAll = undefined);
  }

  async #retryHeld(): Promise<void> {
    let isLogged = false;
    let retryMs = RETRY_MS;
    while (this.#held.length > 0 && !this.#abandoned) {
      await this.#options.clock.sleep(withJitter(retryMs), this.#giveUp.signal);
      const chunk = takeChunk(this.#held);
      this.#retryingHeld = chunk;
      let heldBy: string | undefined;
      const result = await this.#call(chunk, (by) => heldBy = by);
      this.#retryingHeld = [];
      // The main loop splits the chunks that are rejected.
      if (result instanceof Error) this.#setAside(chunk);
      if (result instanceof Error) this.#flushing ??= this.#run();
      if (this.#held.length > 0 && !isLogged) {
        isLogged = true;
        const jids = this.#held.flatMap(({ jid, record }) => jid ?? record?.jid ?? []).slice(0, 10);
        const batches = new Set(this.#held.flatMap(({ batch }) => batch?.id ?? []));
        this.#options.log.warn("Outcomes wait for another transaction, retrying", {
          count: this.#held.length,
          ...(jids.length > 0 && { jids: jids.join(" ") }),
          ...(batches.size > 0 && { batches: [...batches].slice(0, 10).join(" ") }),
          ...(heldBy !== undefined && { heldBy }),
        });
      }
      retryMs = this.#held.length < chunk.length ? RETRY_MS : Math.min(2 * retryMs, MAX_REJECTED_RETRY_MS);
    }
    if (isLogged && !this.#abandoned) this.#options.log.info("Outcomes that waited for another transaction are stored");
  }

  #setAside(rejected: readonly Outcome[]): void {
    if (rejected.length === 0) return;
    if (this.#rejected.length === 0) {
      this.#retryMs = RETRY_MS;
      this.#retryAt = this.#options.clock.monotonic() + withJitter(this.#retryMs);
    }
    this.#rejected.push(...rejected);
  }

  /**
   * Stores a chunk, and splits it if the store rejects it.
   *
   * @returns the outcomes that are not stored: those that the store rejects and, if these are many, others as well
   */
  async #settle(chunk: readonly Outcome[]): Promise<readonly Outcome[]> {
    const left: Outcome[] = [];
    const parts = [chunk];
    this.#storing = chunk;
    for (let calls = 1; parts.length > 0; calls++) {
      const part = parts.pop()!;
      const error = calls > MAX_SPLIT_CALLS || this.#abandoned ? undefined : await this.#call(part);
      if (error === "stored") continue;
      if (error === undefined || part.length === 1) {
        if (error !== undefined) this.#reportRejected(part, error);
        left.unshift(...part);
        continue;
      }
      const half = part.length >> 1;
      // The later half goes first. A released job goes to the front of its queue, and the earlier ones must be before it.
      parts.push(part.slice(0, half), part.slice(half));
    }
    const wasBehind = this.isBehind;
    this.#storing = [];
    if (wasBehind && !this.isBehind) this.onCaughtUp?.();
    return left;
  }

  /**
   * Settles outcomes in one call. Waits while the store is unreachable, locked or full.
   *
   * @param onHeld called with what holds the rows of some, which are retried
   * @returns the error of the store if it rejects them; undefined after {@linkcode abandon}
   */
  async #call(
    outcomes: readonly Outcome[],
    onHeld?: (by: string | undefined) => void,
  ): Promise<"stored" | Error | undefined> {
    for (let failures = 0; !this.#abandoned; failures++) {
      try {
        const result = await this.#options.store.jobs.settle(this.#options.worker, outcomes, { skipsHeld: true });
        const level = this.#outage.over("settler");
        if (level !== undefined) this.#options.log[level]("Outcomes are stored again");
        this.#report(outcomes, result);
        if (result.held !== undefined) {
          const held = new Set(result.held);
          this.#hold(outcomes.filter(({ token }) => held.has(token)));
          onHeld?.(result.heldBy);
        }
        if (outcomes.some(({ batch }) => batch?.node !== undefined)) this.#options.onNodes?.();
        return "stored";
      } catch (error) {
        // `abandon` and `fail` are logged by their callers.
        if (this.#abandoned) return;
        if (isGone(error)) {
          this.#options.fail?.(error);
          this.abandon();
          return;
        }
        if (!(error instanceof StoreError && error.transient)) return error as Error;
        if (failures === 0) {
          const level = this.#outage.met("settler", error);
          this.#options.log[level]("Outcomes not stored, retrying", {
            count: outcomes.length,
            error: error.message,
          });
        }
        await this.#options.clock.sleep(withJitter(RETRY_MS), this.#giveUp.signal);
      }
    }
  }

  /** Logs the first rejection. The others probably have the same cause. */
  #reportRejected(outcomes: readonly Outcome[], error: Error): void {
    if (this.#rejectionLogged) return;
    this.#rejectionLogged = true;
    const tokens = outcomes.map(({ token }) => token);
    this.#options.log.error("Store rejects an outcome: its job stays leased here, and the outcome is retried", {
      token: tokens[0],
      ...jidsOf(outcomes, tokens),
      error: error.message,
      ...(!(error instanceof StoreError) && { stack: error.stack }),
    });
  }

  #report(chunk: readonly Outcome[], result: { readonly lost: readonly string[]; readonly dropped: number }): void {
    this.#options.counters.leasesLost += result.lost.length;
    this.#options.counters.deadDropped += result.dropped;
    if (result.lost.length > 0) {
      this.#options.log.warn("Leases lost: this worker was offline, and these jobs run again elsewhere", {
        count: result.lost.length,
        ...jidsOf(chunk, result.lost),
      });
      this.#options.onLost?.();
    }
    if (result.dropped > 0) {
      this.#options.log.warn("Deleted dead jobs: over the limit of number or age", { count: result.dropped });
    }
  }
}

/** Removes the outcomes of one call from the front of a list. */
function takeChunk(outcomes: Outcome[]): Outcome[] {
  const budget = new ByteBudget();
  const max = Math.min(outcomes.length, MAX_CHUNK_OUTCOMES);
  let count = 0;
  while (count < max && budget.spend({ length: sizeOf(outcomes[count]!) })) count++;
  return outcomes.splice(0, count);
}

function sizeOf(outcome: Outcome): number {
  const follow = outcome.follow?.reduce((sum, { payload }) => sum + payload.length, 0) ?? 0;
  return ("payload" in outcome ? outcome.payload.length : 0) + (outcome.record?.body.length ?? 0) + follow;
}

function withJitter(ms: number): number {
  return ms * (0.5 + Math.random());
}

/** Returns the jids of outcomes that have one: in their record, or in their payload. */
function jidsOf(chunk: readonly Outcome[], tokens: readonly string[]): { readonly jids?: string } {
  const lost = new Set(tokens);
  const jids = chunk.filter(({ token }) => lost.has(token)).flatMap((outcome) => {
    if ("record" in outcome && outcome.record !== undefined) return outcome.record.jid;
    return "payload" in outcome && outcome.payload !== undefined ? parsePayload(outcome.payload)?.jid || [] : [];
  });
  return jids.length === 0 ? {} : { jids: jids.slice(0, 10).join(" ") };
}
