/**
 * Long work: a progress line on stderr if that is a terminal, and an orderly stop between two steps on Ctrl-C.
 *
 * @module
 */
import { type Clock, systemClock } from "../../clock.ts";
import { formatDuration } from "../../job/duration.ts";
import { untilStopped } from "../../server/control/signals.ts";
import { number } from "../../text/format.ts";
import { redraw, statusColumns } from "./output.ts";

export interface Progress {
  /** A word or two: `Deleting`. */
  readonly what: string;
  readonly done: number;
  /** Undefined if unknown. */
  readonly total: number | undefined;
  /** From 0 to 1, if the total is unknown and this isn't. */
  readonly share?: number;
  readonly elapsedMs: number;
}

const MAX_BAR = 30;
/** Redrawing more often is invisible. */
const REDRAW_MS = 100;
/** Work that ends sooner draws no line. */
const SILENT_MS = 200;

/** Returns a bar with count, rate and remaining time, in at most `columns` columns. */
export function progressLine({ what, done, total, share, elapsedMs }: Progress, columns: number): string {
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

/** Draws the progress of some work, and lets Ctrl-C stop it. */
export class LongWork implements Disposable {
  /** Aborts on Ctrl-C and SIGTERM; a second one ends the process. */
  readonly signal: AbortSignal;
  readonly #what: string;
  readonly #clock: Clock;
  readonly #start: number;
  readonly #listening: Disposable;
  readonly #columns: number | undefined;
  #drawn: number | undefined;

  /**
   * @param what a word or two: `Deleting`
   * @param options.drawn false if the results are printed on the same terminal
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

  at(state: { readonly done: number; readonly total?: number; readonly share?: number }): void {
    if (this.#columns === undefined) return;
    const now = this.#clock.monotonic();
    if (now - (this.#drawn ?? this.#start + SILENT_MS - REDRAW_MS) < REDRAW_MS) return;
    this.#drawn = now;
    redraw(progressLine({ total: undefined, ...state, what: this.#what, elapsedMs: now - this.#start }, this.#columns));
  }

  /** Clears the line: before a remark, and at the end. */
  clear(): void {
    if (this.#drawn !== undefined) redraw("");
  }

  [Symbol.dispose](): void {
    this.clear();
    this.#listening[Symbol.dispose]();
  }
}
