/**
 * Work that takes long: how far it is, drawn on stderr where that is a terminal, and a stop that Ctrl-C asks for, between
 * two steps, that says how far it came.
 *
 * @module
 */
import { type Clock, systemClock } from "../../clock.ts";
import { formatDuration } from "../../job/duration.ts";
import { untilStopped } from "../../server/control/signals.ts";
import { number } from "../../text/format.ts";
import { redraw, statusColumns } from "./output.ts";

/** Somebody stopped it before its end. The message says how far it came; the exit code is 130. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

/** How far something is. */
export interface State {
  /** Completes `… 5 of 9`. */
  readonly what: string;
  readonly done: number;
  /** How many there are, where that is known. */
  readonly total: number | undefined;
  /** From 0 to 1, where the total is not known and this is. */
  readonly share?: number;
  readonly elapsedMs: number;
}

const MAX_BAR = 30;
/** The eye wants no more. */
const REDRAW_MS = 100;
/** Before that, nobody wonders, and rates mean nothing. */
const SILENT_MS = 200;

/** The bar, the count, the rate, and what remains by it, in so many columns at most. */
export function progressLine({ what, done, total, share, elapsedMs }: State, columns: number): string {
  const part = total === undefined ? share : total === 0 ? 1 : Math.min(1, done / total);
  const rate = elapsedMs > 0 ? done / elapsedMs * 1_000 : 0;
  const remainsMs = part === undefined || part === 0 ? undefined : elapsedMs / part * (1 - part);
  const words = [
    ...(part === undefined ? [] : [`${Math.floor(part * 100)} %`]),
    total === undefined ? number(done) : `${number(done)} of ${number(total)}`,
    ...(rate > 0 ? [`${number(Math.round(rate))}/s`] : []),
    ...(remainsMs !== undefined && remainsMs >= 1_000 ? [`${formatDuration(remainsMs)} left`] : []),
  ].join("  ");
  const room = Math.min(MAX_BAR, columns - what.length - words.length - 4);
  if (part === undefined || room < 5) return `${what}  ${words}`.slice(0, columns - 1);
  return `${what} ${"█".repeat(Math.floor(part * room)).padEnd(room, "░")} ${words}`;
}

/** What the work is told, and tells. */
export class LongWork implements Disposable {
  /** Aborts when somebody wants it to stop; a second Ctrl-C ends the process. */
  readonly signal: AbortSignal;
  readonly #what: string;
  readonly #clock: Clock;
  readonly #start: number;
  readonly #listening: Disposable;
  readonly #columns: number | undefined;
  #drawn: number | undefined;

  /**
   * @param what a word or two: `Deleting`
   * @param options.drawn false: nothing is drawn, as something else is printed on the same terminal
   */
  constructor(what: string, { drawn = true, clock = systemClock }: { drawn?: boolean; clock?: Clock } = {}) {
    this.#what = what;
    this.#clock = clock;
    this.#start = clock.monotonic();
    this.#columns = drawn ? statusColumns() : undefined;
    const listening = untilStopped();
    this.#listening = listening;
    this.signal = listening.signal;
  }

  /** Says how far it is. */
  at(state: { readonly done: number; readonly total?: number; readonly share?: number }): void {
    if (this.#columns === undefined) return;
    const now = this.#clock.monotonic();
    if (now - (this.#drawn ?? this.#start + SILENT_MS - REDRAW_MS) < REDRAW_MS) return;
    this.#drawn = now;
    redraw(progressLine({ total: undefined, ...state, what: this.#what, elapsedMs: now - this.#start }, this.#columns));
  }

  /** Takes the line away: before a remark, and at the end. */
  clear(): void {
    if (this.#drawn !== undefined) redraw("");
  }

  [Symbol.dispose](): void {
    this.clear();
    this.#listening[Symbol.dispose]();
  }
}
