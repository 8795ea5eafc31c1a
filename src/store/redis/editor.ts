/**
 * What an operator does to entries: requeue, kill, delete. Each in one step, and only if it is still where it was.
 *
 * @module
 */
import { getField, setFields, wireTime } from "../../job/raw.ts";
import type { Edit, Place } from "../admin.ts";
import type { Context } from "./context.ts";
import { type Found, readQueue, readSet } from "./entries.ts";
import { queueKey, SETS } from "./keys.ts";
import type { Link } from "./link.ts";
import { locate } from "./locate.ts";
import { makeMoves, type Move } from "./moves.ts";
import { parseRef } from "./refs.ts";

/** See `StoreAdmin.edit`. */
export async function edit(context: Context, refs: readonly string[], kind: Edit, queue?: string): Promise<number> {
  const found = await Promise.all(refs.map(async (text) => {
    const ref = parseRef(text);
    return ref && await locate(context.link, ref);
  }));
  return await make(context, found.filter((one) => one !== undefined), kind, queue);
}

/** See `StoreAdmin.editSome`. */
export async function editSome(context: Context, place: Place, kind: Edit, limit: number): Promise<number> {
  switch (place.in) {
    case "leased":
      return 0;
    case "queue":
      // Requeueing would never come to an end.
      if (kind === "requeue") return 0;
      return await make(context, await readQueue(context.link, place.queue, 0, limit), kind);
    default:
      if (place.in === "dead" && kind === "kill") return 0;
      return await make(context, await readSet(context.link, place.in, 0, limit), kind);
  }
}

async function make(context: Context, entries: readonly Found[], kind: Edit, to?: string): Promise<number> {
  if (entries.length === 0) return 0;
  const now = await serverTime(context.link) + Number(context.offset());
  const moves = entries.map((one) => moveOf(context, one, kind, now, to)).filter((move) => move !== undefined);
  const { made } = await makeMoves(context, moves);
  return made.filter(Boolean).length;
}

function moveOf(
  context: Context,
  { place, member: { text, exact } }: Found,
  kind: Edit,
  now: number,
  to: string | undefined,
): Move | undefined {
  const from = place.in === "queue" ? queueKey(place.queue) : SETS[place.in as keyof typeof SETS];
  switch (kind) {
    case "delete": {
      const jid = getField(text, "jid");
      return { from, old: exact, to: "", payload: "", ...(typeof jid === "string" ? { unlock: jid } : {}) };
    }
    case "kill":
      return place.in === "dead" ? undefined : { from, old: exact, to: SETS.dead, payload: exact };
    case "requeue": {
      const queue = to ?? (place.in === "queue" ? place.queue : getField(text, "queue"));
      try {
        const payload = setFields(text, {
          ...(to === undefined ? {} : { queue: JSON.stringify(to) }),
          enqueued_at: wireTime(now, context.wire),
          at: undefined,
          ...uncounted(text, place),
        });
        return { from, old: exact, to: queueKey(typeof queue === "string" && queue ? queue : "default"), payload };
      } catch {
        // Unreadable: nobody could run it.
        return undefined;
      }
    }
  }
}

/** One attempt fewer, so that the one to come does not use one up. */
function uncounted(text: string, place: Place): Record<string, string> {
  if (place.in !== "retry" && place.in !== "dead") return {};
  const count = getField(text, "retry_count");
  return typeof count === "number" ? { retry_count: `${count - 1}` } : {};
}

/** Epoch milliseconds. */
async function serverTime(link: Link): Promise<number> {
  const [seconds, micros] = await link.call(["TIME"]) as [string, string];
  return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
}
