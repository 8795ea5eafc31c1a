/**
 * Reports a blocked event loop, while it is blocked and when it turns again: to the main thread's log, to the log of this thread if
 * that takes long, and to the store before the next heartbeat is due.
 *
 * @module
 */
import type { BlockedLoop } from "../../store/port/workers.ts";
import type { StandIn } from "./stand_in.ts";

/** A loop that is blocked for this long is logged while it is, and once more when it turns again. */
const LONG_BLOCKED_MS = 10_000;
/** Other processes learn of a loop that is blocked for this long before the next heartbeat is due. */
const REPORTED_BLOCKED_MS = 2_000;

export interface BlockedReportOptions {
  readonly standIn: Pick<StandIn, "blocked" | "warn">;
  /** Sends a heartbeat at once. */
  readonly beat: () => void;
  /** Called when the loop turns again, with how long it was blocked and by what. */
  readonly onOver: (ms: number, by: BlockedLoop | undefined) => void;
}

export class BlockedReport {
  readonly #options: BlockedReportOptions;
  #isLogged = false;
  /** Whether the last heartbeat says that the loop is blocked. */
  #isStored = false;
  #by: BlockedLoop | undefined;

  constructor(options: BlockedReportOptions) {
    this.#options = options;
  }

  /** Notes what a heartbeat says. */
  sent(isBlocked: boolean): void {
    this.#isStored = isBlocked;
  }

  /** Notes that the loop has been silent for this long. Called repeatedly while it is blocked. */
  blocked(silentMs: number): void {
    const { standIn, beat } = this.#options;
    // The first look that names a job counts. At a later one the loop may turn already, and the job have ended, or another one run.
    const by = standIn.blocked();
    if (this.#by?.jid === undefined) this.#by = by ?? this.#by;
    if (silentMs >= REPORTED_BLOCKED_MS && !this.#isStored) beat();
    if (silentMs < LONG_BLOCKED_MS || this.#isLogged) return;
    this.#isLogged = true;
    const { class: name, jid, task } = this.#by ?? {};
    const fields = { blockedMs: Math.round(silentMs), class: name, jid, processor: task };
    standIn.warn("Event loop is blocked: a handler does not yield", fields);
  }

  /** Notes that the loop turns again, after this long. */
  over(ms: number): void {
    const { beat, onOver } = this.#options;
    onOver(ms, this.#by);
    this.#by = undefined;
    this.#isLogged = false;
    if (this.#isStored) beat();
  }
}
