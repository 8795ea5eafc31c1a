/**
 * The edits of an operator: requeue, kill, delete. Each entry is edited in one step, and only if it hasn't moved.
 *
 * @module
 */
import { COUNTED_FIELD, countedAs, countedIn } from "../../job/batch.ts";
import { uncounted } from "../../job/payload_edits.ts";
import { setFields, wireTime } from "../../job/raw.ts";
import type { Subscription } from "../../job/webhook.ts";
import { followsOf } from "../ops/follow.ts";
import type { Cancellation, Edit, PlaceSelection, SetName } from "../port/entries.ts";
import { nameIn, nameOf } from "../port/groups.ts";
import { type Context, serverTime } from "./context.ts";
import { FIRST_WINDOW, type Found, nextWindow, readQueue, readSet } from "./entries.ts";
import { listKey, queueKey, SETS } from "./keys.ts";
import { locateAll } from "./locate.ts";
import { jidOf, makeMoves, type Move } from "./move_request.ts";
import { parseRef } from "./refs.ts";
import { webhooksPart } from "./webhooks.ts";

/** Maximum number of entries that are read by their refs and edited together. */
const MAX_REFS = 100;
/** Maximum number of entries of a place that are read and edited together. */
const MAX_WINDOW = 250;
/** Maximum number of attempts: workers may take jobs of a queue between the read of an entry and its edit. */
const MAX_ROUNDS = 10;

/** An edit, and its options. */
export interface EditRequest {
  readonly edit: Edit | Cancellation;
  /** Requeue to this queue instead of the one that the payload names. */
  readonly queue?: string | undefined;
}

/** See `JobStore.edit`. */
export async function editEntries(
  context: Context,
  selection: readonly string[] | PlaceSelection,
  request: EditRequest,
): Promise<number> {
  if ("in" in selection) return await editPlace(context, selection, request);
  const all = [...new Set(selection)].map(parseRef).filter((ref) => ref !== undefined);
  let count = 0;
  for (let from = 0; from < all.length; from += MAX_REFS) {
    let left = all.slice(from, from + MAX_REFS);
    for (let round = 0; left.length > 0 && round < MAX_ROUNDS; round++) {
      const found = await locateAll(context.client, left);
      const at = await moment(context, request);
      const some = left.flatMap((ref, i) => {
        const move = found[i] && moveOf(context, found[i], { ...request, ...at });
        return move ? [{ ref, move }] : [];
      });
      // In the order of the queue, deep entries share one walk with their neighbours.
      some.sort((a, b) => (a.move.position ?? 0) - (b.move.position ?? 0));
      const { made, missed } = await make(context, some.map(({ move }) => move));
      count += made;
      left = missed.map((i) => some[i]!.ref);
    }
  }
  return count;
}

async function editPlace(
  context: Context,
  { in: place, limit }: PlaceSelection,
  request: EditRequest,
): Promise<number> {
  const { edit } = request;
  // An entry that doesn't move would be found again and again.
  if (place.in === "running" || place.in === "dead" && edit === "kill") return 0;
  if (place.in === "queue" && edit === "requeue") return 0;
  const at = await moment(context, request);
  let count = 0;
  let from = 0;
  let window = FIRST_WINDOW;
  for (let idle = 0; count < limit && idle < MAX_ROUNDS;) {
    const wanted = Math.min(window, limit - count);
    const entries = place.in === "queue"
      ? await readQueue(context.client, nameOf(place.queue, place.group), from, wanted)
      : await readSet(context.client, place.in, from, wanted);
    if (entries.length === 0) break;
    window = nextWindow(entries, MAX_WINDOW);
    const moves = entries.map((one) => moveOf(context, one, { ...request, ...at })).filter((move) =>
      move !== undefined
    );
    const { made } = await make(context, moves);
    count += made;
    // Entries that can't be edited stay in front of the others.
    from += entries.length - moves.length;
    idle = made > 0 || moves.length === 0 ? 0 : idle + 1;
  }
  return count;
}

interface EditAt extends EditRequest {
  /** The store's time. */
  readonly now: number;
  readonly subscriptions: readonly Subscription[];
}

/** Reads what an edit depends on, in one round trip. */
async function moment(context: Context, { edit }: EditRequest): Promise<Pick<EditAt, "now" | "subscriptions">> {
  const ends = typeof edit === "object" || edit === "kill";
  const [now, subscriptions] = await Promise.all([serverTime(context), ends ? webhooksPart(context).read() : []]);
  return { now, subscriptions };
}

async function make(context: Context, moves: readonly Move[]): Promise<{ made: number; missed: readonly number[] }> {
  if (moves.length === 0) return { made: 0, missed: [] };
  const { made, missed } = await makeMoves(context, moves);
  return { made: made.filter(Boolean).length, missed };
}

/** Returns the move that edits an entry; undefined if it doesn't change. */
function moveOf(
  context: Context,
  { place, position, member: { text, exact } }: Found,
  { edit, now, queue, subscriptions }: EditAt,
): Move | undefined {
  const from = place.in === "queue" ? { from: listKey(place), position } : { from: SETS[place.in as SetName] };
  const follow = (type: "dead" | "cancelled") => ({ follow: followsOf(subscriptions, text, { type, at: now }) });
  if (typeof edit === "object") {
    return { ...from, old: exact, to: "", unlock: jidOf(text), record: edit.cancel, ...follow("cancelled") };
  }
  switch (edit) {
    case "delete":
      return { ...from, old: exact, to: "", unlock: jidOf(text) };
    case "kill":
      return place.in === "dead"
        ? undefined
        : { ...from, old: exact, to: SETS.dead, unlock: jidOf(text), ...killedMember(text), ...follow("dead") };
    case "requeue":
      try {
        const payload = setFields(text, {
          ...(queue === undefined ? {} : { queue: JSON.stringify(queue) }),
          enqueued_at: wireTime(now, context.wire),
          at: undefined,
          ...(countedIn(text)?.counted === "dead" && { [COUNTED_FIELD]: `"pending"` }),
          ...((place.in === "retry" || place.in === "dead") && uncounted(text)),
        });
        return { ...from, old: exact, to: queueKey(nameIn(text, queue)), payload };
      } catch {
        // Unreadable: no worker could run it.
        return undefined;
      }
  }
}

/** Marks a killed member of a batch, so that the batch counts it once. */
function killedMember(text: string): Pick<Move, "payload"> {
  return countedIn(text)?.counted === "pending" ? { payload: countedAs(text, "dead") } : {};
}
