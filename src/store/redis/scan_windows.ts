/**
 * Everything of a list or a sorted set, in windows that keep each step short for the server. A few are asked for at a
 * time: while one is looked at, the server reads the next.
 *
 * Places shift as jobs come and go. What stays keeps its order, so each window begins with the last jobs of the window
 * before it: as long as one of them is in it, nothing between the two was passed over.
 *
 * @module
 */
import type { Buffer } from "node:buffer";
import { MAX_BATCH_BYTES } from "../port/batch_bytes.ts";

/** The most jobs in one step of the server. */
export const MAX_WINDOW = 1_000;
/** Jobs of the first window, as their sizes are not known, and by how much the next one may be larger. */
const FIRST_WINDOW = 32;
const GROWTH = 4;
/** The most jobs of the window before with which a window begins: as many may leave between two steps. */
const MAX_OVERLAP = 50;
/** Windows asked for at a time. */
const AHEAD = 3;
/** It begins so often at most; the last time it goes on whatever leaves. */
const BEGINNINGS = 5;

/** What a reading brought. */
export interface Read {
  readonly payloads: readonly Buffer[];
  /** Where the last of them is, if the reader knows. */
  readonly end?: number;
  /** Whether there is nothing behind it. */
  readonly last: boolean;
}

/** Reads `count` payloads from one on, counted from where the reading begins. */
export type Reader = (from: number, count: number) => Promise<Read>;

/**
 * How many jobs to read at once, so that their payloads are about {@linkcode MAX_BATCH_BYTES}: as many as the last window
 * suggests. A window of large jobs right after one of small jobs is larger than that, once: Redis sends a window five
 * times as fast as a script that adds up the sizes.
 */
export class WindowSize {
  #count = FIRST_WINDOW;
  #isKnown = false;

  /** Jobs of the next window. */
  get count(): number {
    return this.#count;
  }

  /** Whether a window has been read: the sizes of the jobs are known, more or less. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  /** Learns from a window that was read. */
  note(payloads: readonly Buffer[]): void {
    if (payloads.length === 0) return;
    this.#isKnown = true;
    const mean = payloads.reduce((sum, { length }) => sum + length, 1) / payloads.length;
    this.#count = Math.max(1, Math.min(MAX_WINDOW, GROWTH * this.#count, Math.floor(MAX_BATCH_BYTES / mean)));
  }
}

/**
 * Reads everything, once; begins again when so much left that something may have been passed over. What stays is
 * seen, some of it twice.
 *
 * @param begin makes the reader, anew with each beginning
 * @returns of each window what was not in the one before it
 */
export async function* inWindows(begin: () => Reader | Promise<Reader>): AsyncGenerator<Read> {
  const size = new WindowSize();
  let isWhole = false;
  for (let beginnings = 1; !isWhole; beginnings++) {
    let before: readonly Buffer[] = [];
    isWhole = true;
    const read = await begin();
    for await (const { overlap, ...window } of readAhead(read, size)) {
      const { payloads, last } = window;
      const known = seenOf(payloads, overlap === 0 ? [] : before.slice(-overlap));
      if (known === undefined && beginnings < BEGINNINGS) {
        isWhole = false;
        break;
      }
      yield { ...window, payloads: payloads.slice(known) };
      if (last) break;
      before = payloads;
    }
  }
}

/** A window, and with how many jobs of the one before it begins. */
interface Window extends Read {
  readonly overlap: number;
}

async function* readAhead(read: Reader, size: WindowSize): AsyncGenerator<Window> {
  const asked: Promise<Window>[] = [];
  let overlap = 0;
  for (let at = 0;;) {
    // One until the sizes of the jobs are known.
    while (asked.length < (size.isKnown ? AHEAD : 1)) {
      const { count } = size;
      const window = askFor(read, { at, count, overlap });
      // Nobody waits for those that turn out not to be needed.
      window.catch(() => {});
      asked.push(window);
      at += count;
      overlap = Math.min(MAX_OVERLAP, Math.ceil(count / GROWTH));
    }
    const window = await asked.shift()!;
    size.note(window.payloads);
    yield window;
  }
}

async function askFor(
  read: Reader,
  { at, count, overlap }: { readonly at: number; readonly count: number; readonly overlap: number },
): Promise<Window> {
  return { ...await read(at - overlap, count + overlap), overlap };
}

/** How many of a window's first were seen in the window before; undefined when none was. */
function seenOf(payloads: readonly Buffer[], tail: readonly Buffer[]): number | undefined {
  if (tail.length === 0) return 0;
  // Where they are if nothing has moved. By this, jobs alike to the last byte stay two.
  if (payloads[tail.length - 1]?.equals(tail.at(-1)!)) return tail.length;
  for (const one of tail.toReversed()) {
    const at = payloads.findIndex((payload) => payload.equals(one));
    if (at >= 0) return at + 1;
  }
  return undefined;
}
