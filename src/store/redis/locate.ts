/**
 * Finds the entry that a ref names, if it is still in its place.
 *
 * The first read is at the position where the entry was last seen. From there, a queue is searched towards its front, because
 * jobs move that way when others are taken, and then towards its back: O(distance), at worst O(M) for M jobs. A set is
 * searched among the members of the same score: O(log M + members of that score).
 *
 * @module
 */
import { FIRST_WINDOW, type Found, nextWindow, readLeases, readQueue, readScore, readSet } from "./entries.ts";
import { nameOf } from "../port/groups.ts";
import { queueKey } from "./keys.ts";
import type { ReconnectingClient } from "./client/reconnecting_client.ts";
import { CHECKSUM_DIGITS, checksumOf, digestOf, isDigestOf, parseRef, type Ref } from "./refs.ts";

/** Maximum number of entries that are compared in one step. */
const MAX_WINDOW = 500;
/** With `near`, a queue is searched this many entries towards its back: released jobs move others away from the front. */
const MAX_NEAR_DISTANCE = 1_000;

/** The ref of an entry of a queue. */
type QueueRef = Ref & { readonly in: "queue" };

/** Options of {@linkcode locate}. */
export interface LocateOptions {
  /** Doesn't search a queue to its back, only near the last position. Default false. */
  readonly near?: boolean;
}

/** Returns the entry that a text names, also a running job; undefined if it has moved, or the text isn't a ref. */
export async function locateText(client: ReconnectingClient, text: string): Promise<Found | undefined> {
  const ref = parseRef(text);
  if (ref?.in === "running") return (await readLeases(client, ref.worker, [ref.token])).found[0];
  return ref && await locate(client, ref);
}

/** Returns the entry if it can be edited; undefined if it has moved. */
export async function locate(
  client: ReconnectingClient,
  ref: Ref,
  { near = false }: LocateOptions = {},
): Promise<Found | undefined> {
  switch (ref.in) {
    case "running":
      return undefined;
    case "queue":
      return await lastSeen(client, ref) ?? (await searchQueue(client, [ref], { near }))[0];
    default: {
      const { digest, position, score } = ref;
      const here = position < 0 ? [] : await readSet(client, ref.in, position, 1);
      if (hasDigest(here[0], digest) && here[0]!.score === score) return here[0];
      let count = FIRST_WINDOW;
      for (let from = 0;;) {
        const window = await readScore(client, ref.in, score, from, count);
        const found = window.find((one) => hasDigest(one, digest));
        if (found || window.length < count) return found;
        from += count;
        count = nextWindow(window, MAX_WINDOW);
      }
    }
  }
}

/**
 * Returns entries, each as {@linkcode locate} does. The moved entries of a queue are searched together: the queue is read at
 * most once.
 */
export async function locateAll(client: ReconnectingClient, refs: readonly Ref[]): Promise<(Found | undefined)[]> {
  const found = await Promise.all(refs.map((ref) => ref.in === "queue" ? lastSeen(client, ref) : locate(client, ref)));
  const missing = refs.flatMap((ref, i) => ref.in === "queue" && found[i] === undefined ? [{ ref, i }] : []);
  for (const [queue, some] of Map.groupBy(missing, ({ ref }) => ref.queue)) {
    const taken = new Set(found.flatMap((one) => isInQueue(one, queue) ? [one.position] : []));
    const searched = await searchQueue(client, some.map(({ ref }) => ref), { taken });
    for (const [j, { i }] of some.entries()) found[i] = searched[j];
  }
  return found;
}

/** Returns the entry if it is where it was last seen. */
async function lastSeen(
  client: ReconnectingClient,
  { queue, digest, position }: QueueRef,
): Promise<Found | undefined> {
  const [here] = await readQueue(client, queue, Math.max(0, position), 1);
  return hasDigest(here, digest) ? here : undefined;
}

interface SearchOptions extends LocateOptions {
  /** Positions of the entries of other refs. */
  readonly taken?: ReadonlySet<number>;
}

/** Searches a queue for entries: from the last of their positions to the front, then to the back. */
async function searchQueue(
  client: ReconnectingClient,
  refs: readonly QueueRef[],
  { near = false, taken = new Set() }: SearchOptions,
): Promise<(Found | undefined)[]> {
  const { queue } = refs[0]!;
  const found: (Found | undefined)[] = refs.map(() => undefined);
  // Each of several equal refs names a different one of the equal entries.
  const wanted = Map.groupBy(refs.keys(), (i) => refs[i]!.digest);
  const checksums = new Set(refs.map(({ digest }) => digest.slice(0, CHECKSUM_DIGITS)));
  const compare = (window: readonly Found[]) => {
    for (const one of window) {
      if (!checksums.has(checksumOf(one.member.exact))) continue;
      const digest = digestOf(one.member.exact);
      const some = wanted.get(digest);
      if (some === undefined || taken.has(one.position)) continue;
      found[some.pop()!] = one;
      if (some.length === 0) wanted.delete(digest);
    }
  };
  // A ref from a client may have any position.
  const size = await client.call(["LLEN", queueKey(queue)]) as number;
  const last = Math.min(size - 1, Math.max(...refs.map(({ position }) => position)));
  let count = FIRST_WINDOW;
  for (let end = last + 1; end > 0 && wanted.size > 0;) {
    const from = Math.max(0, end - count);
    const window = await readQueue(client, queue, from, end - from);
    compare(window.toReversed());
    end = from;
    count = nextWindow(window, MAX_WINDOW);
  }
  for (let from = Math.max(0, last + 1); wanted.size > 0 && (!near || from <= last + MAX_NEAR_DISTANCE);) {
    const window = await readQueue(client, queue, from, count);
    compare(window);
    if (window.length < count) break;
    from += count;
    count = nextWindow(window, MAX_WINDOW);
  }
  return found;
}

function isInQueue(found: Found | undefined, queue: string): found is Found {
  return found?.place.in === "queue" && nameOf(found.place.queue, found.place.group) === queue;
}

function hasDigest(found: Found | undefined, digest: string): boolean {
  return found !== undefined && isDigestOf(digest, found.member.exact);
}
