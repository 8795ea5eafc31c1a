/**
 * A name of an entry → the entry, if it is still in its place.
 *
 * Where it was last seen is looked at first. From there, a queue is searched towards its front (jobs move that way as
 * those before them are taken) and then towards its back: O(distance), at worst O(M) for M jobs. A set is searched among
 * the members of the same score: O(log M + members of that score).
 *
 * @module
 */
import { type Found, readLeases, readQueue, readScore, readSet } from "./entries.ts";
import type { Link } from "./link.ts";
import { digestOf, parseRef, type Ref } from "./refs.ts";

/** So many entries are looked at in one step. */
const WINDOW = 500;
/** Give-backs move a job away from the front; by so much at most before a page's cursor is given up. */
const NEAR = 1_000;

/** What {@linkcode locate} is to find it in. */
export interface LocateOptions {
  /** Look only where it is cheap. */
  readonly near?: boolean;
}

/** Finds the entry that a ref's text names, a running job too; undefined when it is gone or the text is no ref. */
export async function locateText(link: Link, text: string): Promise<Found | undefined> {
  const ref = parseRef(text);
  if (ref?.in === "leased") return (await readLeases(link, ref.owner, [ref.token]))[0];
  return ref && await locate(link, ref);
}

/** Finds the entry, if it can be edited; undefined when it is gone. */
export async function locate(link: Link, ref: Ref, { near = false }: LocateOptions = {}): Promise<Found | undefined> {
  switch (ref.in) {
    case "leased":
      return undefined;
    case "queue": {
      const { queue, digest, position } = ref;
      const here = await readQueue(link, queue, Math.max(0, position), 1);
      if (isIt(here[0], digest)) return here[0];
      for (let end = position; end > 0; end -= WINDOW) {
        const from = Math.max(0, end - WINDOW);
        const found = (await readQueue(link, queue, from, end - from)).findLast((one) => isIt(one, digest));
        if (found) return found;
      }
      for (let from = Math.max(0, position + 1); !near || from <= position + NEAR; from += WINDOW) {
        const window = await readQueue(link, queue, from, WINDOW);
        const found = window.find((one) => isIt(one, digest));
        if (found || window.length < WINDOW) return found;
      }
      return undefined;
    }
    default: {
      const { digest, position, score } = ref;
      const here = position < 0 ? [] : await readSet(link, ref.in, position, 1);
      if (isIt(here[0], digest) && here[0]!.score === score) return here[0];
      for (let from = 0;; from += WINDOW) {
        const window = await readScore(link, ref.in, score, from, WINDOW);
        const found = window.find((one) => isIt(one, digest));
        if (found || window.length < WINDOW) return found;
      }
    }
  }
}

function isIt(found: Found | undefined, digest: string): boolean {
  return found !== undefined && digestOf(found.member.exact) === digest;
}
