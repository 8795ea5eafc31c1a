/**
 * What an operator does to entries: requeue, kill, delete. Each in one step, and only if it is still where it was.
 *
 * @module
 */
import { queueNamedIn, uncounted } from "../../job/fields.ts";
import { setFields, wireTime } from "../../job/raw.ts";
import type { Edit, Place, SetName } from "../admin.ts";
import { type Context, serverTime } from "./context.ts";
import { type Found, readQueue, readSet } from "./entries.ts";
import { queueKey, SETS } from "./keys.ts";
import { locate } from "./locate.ts";
import { jidOf, makeMoves, type Move } from "./moves.ts";
import { parseRef } from "./refs.ts";

/** So many entries are looked at in one step. */
const WINDOW = 500;

/** See `StoreAdmin.edit`. */
export async function edit(context: Context, refs: readonly string[], kind: Edit, queue?: string): Promise<number> {
  const found = await Promise.all([...new Set(refs)].map(async (text) => {
    const ref = parseRef(text);
    return ref && await locate(context.link, ref);
  }));
  const now = await serverTime(context);
  return await make(context, movesOf(context, found.filter((one) => one !== undefined), { kind, now, queue }));
}

/** See `StoreAdmin.editSome`. */
export async function editSome(context: Context, place: Place, kind: Edit, limit: number): Promise<number> {
  // What stays where it is would be found again and again.
  if (place.in === "leased" || place.in === "dead" && kind === "kill") return 0;
  if (place.in === "queue" && kind === "requeue") return 0;
  const now = await serverTime(context);
  const moves: Move[] = [];
  let from = 0;
  while (moves.length < limit) {
    const count = Math.min(WINDOW, limit - moves.length);
    const entries = place.in === "queue"
      ? await readQueue(context.link, place.queue, from, count)
      : await readSet(context.link, place.in, from, count);
    moves.push(...movesOf(context, entries, { kind, now }));
    if (entries.length < count) break;
    from += count;
  }
  return await make(context, moves);
}

interface Wanted {
  readonly kind: Edit;
  /** The store's time. */
  readonly now: number;
  /** Requeue to this queue instead of the one that the payload names. */
  readonly queue?: string | undefined;
}

function movesOf(context: Context, entries: readonly Found[], wanted: Wanted): Move[] {
  return entries.map((one) => moveOf(context, one, wanted)).filter((move) => move !== undefined);
}

async function make(context: Context, moves: readonly Move[]): Promise<number> {
  if (moves.length === 0) return 0;
  const { made } = await makeMoves(context, moves);
  return made.filter(Boolean).length;
}

/** What is to be done with an entry; undefined when it stays as it is. */
function moveOf(context: Context, { place, member: { text, exact } }: Found, wanted: Wanted): Move | undefined {
  const { kind, now, queue } = wanted;
  const from = place.in === "queue" ? queueKey(place.queue) : SETS[place.in as SetName];
  switch (kind) {
    case "delete":
      return { from, old: exact, to: "", payload: "", unlock: jidOf(text) };
    case "kill":
      return place.in === "dead" ? undefined : { from, old: exact, to: SETS.dead, payload: exact, unlock: jidOf(text) };
    case "requeue":
      try {
        const payload = setFields(text, {
          ...(queue === undefined ? {} : { queue: JSON.stringify(queue) }),
          enqueued_at: wireTime(now, context.wire),
          at: undefined,
          ...((place.in === "retry" || place.in === "dead") && uncounted(text)),
        });
        return { from, old: exact, to: queueKey(queue ?? queueNamedIn(text)), payload };
      } catch {
        // Unreadable: nobody could run it.
        return undefined;
      }
  }
}
