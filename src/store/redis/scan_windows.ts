/**
 * Reads all of a list or a sorted set in windows, which keep each step short for the server. A few windows are in flight at a
 * time: the server reads the next one while this process examines one.
 *
 * Positions shift when jobs come and leave. The remaining jobs keep their order, so each window begins with the last jobs of
 * the window before it: if one of them is found, no job between the two windows was skipped.
 *
 * @module
 */
import type { Buffer } from "node:buffer";
import { MAX_BATCH_BYTES } from "../port/batch_bytes.ts";

/** Maximum number of jobs that one command reads. */
export const MAX_WINDOW = 1_000;
/** Jobs of the first window, when their sizes are unknown, and the factor by which the next one may be larger. */
const FIRST_WINDOW = 32;
const GROWTH = 4;
/** Maximum number of jobs that a window repeats from the one before it: this many may leave between two steps. */
const MAX_OVERLAP = 50;
/** Windows in flight at a time. */
const MAX_IN_FLIGHT = 3;
/** Maximum number of starts of a scan. The last one continues, however many jobs leave. */
const MAX_STARTS = 5;

/** A window as it was read. */
export interface Read {
  readonly payloads: readonly Buffer[];
  /** The position of the last payload, if the reader has it. */
  readonly end?: number;
  /** Whether no jobs follow. */
  readonly last: boolean;
}

/** Reads `count` payloads from the position `from`, counted from the start of the scan. */
export type Reader = (from: number, count: number) => Promise<Read>;

/**
 * The number of jobs of the next window, for about {@linkcode MAX_BATCH_BYTES} of payloads, estimated from the last one. A
 * window of large jobs after one of small jobs exceeds that once. A script that adds up the sizes would be exact, but takes
 * five times as long as sending the window.
 */
export class WindowSize {
  #count = FIRST_WINDOW;
  #isKnown = false;

  /** The number of jobs of the next window. */
  get count(): number {
    return this.#count;
  }

  /** Whether a window has been read, so that the sizes of the jobs are roughly known. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  /** Updates the estimate from a window. */
  note(payloads: readonly Buffer[]): void {
    if (payloads.length === 0) return;
    this.#isKnown = true;
    const mean = payloads.reduce((sum, { length }) => sum + length, 1) / payloads.length;
    this.#count = Math.max(1, Math.min(MAX_WINDOW, GROWTH * this.#count, Math.floor(MAX_BATCH_BYTES / mean)));
  }
}

/**
 * Reads everything once. Starts again if enough jobs left that others may have been skipped. Each job that stays is yielded,
 * some of them twice.
 *
 * @param begin returns a new reader for each start
 * @returns the jobs of each window that weren't in the one before it
 */
export async function* inWindows(begin: () => Reader | Promise<Reader>): AsyncGenerator<Read> {
  const size = new WindowSize();
  let isWhole = false;
  for (let starts = 1; !isWhole; starts++) {
    let before: readonly Buffer[] = [];
    isWhole = true;
    const read = await begin();
    for await (const { overlap, ...window } of readAhead(read, size)) {
      const { payloads, last } = window;
      const known = seenOf(payloads, overlap === 0 ? [] : before.slice(-overlap));
      if (known === undefined && starts < MAX_STARTS) {
        isWhole = false;
        break;
      }
      yield { ...window, payloads: payloads.slice(known) };
      if (last) break;
      before = payloads;
    }
  }
}

/** A window, and how many jobs it repeats from the one before it. */
interface Window extends Read {
  readonly overlap: number;
}

async function* readAhead(read: Reader, size: WindowSize): AsyncGenerator<Window> {
  const inFlight: Promise<Window>[] = [];
  let overlap = 0;
  for (let at = 0;;) {
    // One at a time until the sizes of the jobs are known.
    while (inFlight.length < (size.isKnown ? MAX_IN_FLIGHT : 1)) {
      const { count } = size;
      const window = readWindow(read, { at, count, overlap });
      // A window that isn't needed any more is never awaited.
      window.catch(() => {});
      inFlight.push(window);
      at += count;
      overlap = Math.min(MAX_OVERLAP, Math.ceil(count / GROWTH));
    }
    const window = await inFlight.shift()!;
    size.note(window.payloads);
    yield window;
  }
}

async function readWindow(
  read: Reader,
  { at, count, overlap }: { readonly at: number; readonly count: number; readonly overlap: number },
): Promise<Window> {
  return { ...await read(at - overlap, count + overlap), overlap };
}

/** Returns how many of the first payloads were in the window before; undefined if none was. */
function seenOf(payloads: readonly Buffer[], tail: readonly Buffer[]): number | undefined {
  if (tail.length === 0) return 0;
  // Compare first at the position they have if nothing has moved. That keeps two byte-identical jobs apart.
  if (payloads[tail.length - 1]?.equals(tail.at(-1)!)) return tail.length;
  for (const one of tail.toReversed()) {
    const at = payloads.findIndex((payload) => payload.equals(one));
    if (at >= 0) return at + 1;
  }
  return undefined;
}
