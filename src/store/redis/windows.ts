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

/** Jobs in one step of the server. */
export const WINDOW = 1_000;
/** Jobs of the window before: so many may leave between two steps. */
const OVERLAP = 50;
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
 * Reads everything, once; begins again when so much left that something may have been passed over. What stays is
 * seen, some of it twice.
 *
 * @param begin makes the reader, anew with each beginning
 * @returns of each window what was not in the one before it
 */
export async function* inWindows(begin: () => Reader | Promise<Reader>): AsyncGenerator<Read> {
  let tail: readonly Buffer[] | undefined;
  for (let beginnings = 1; tail === undefined; beginnings++) {
    tail = [];
    const read = await begin();
    for await (const window of readAhead(read)) {
      const { payloads, last } = window;
      const known = seenOf(payloads, tail);
      if (known === undefined && beginnings < BEGINNINGS) {
        tail = undefined;
        break;
      }
      yield { ...window, payloads: payloads.slice(known) };
      if (last) break;
      tail = payloads.slice(-OVERLAP);
    }
  }
}

async function* readAhead(read: Reader): AsyncGenerator<Read> {
  const asked: Promise<Read>[] = [];
  for (let at = 0;;) {
    for (; asked.length < AHEAD; at += WINDOW) {
      const from = Math.max(0, at - OVERLAP);
      const window = read(from, at + WINDOW - from);
      // Nobody waits for those that turn out not to be needed.
      window.catch(() => {});
      asked.push(window);
    }
    yield await asked.shift()!;
  }
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
