/**
 * Lists, page by page. A cursor names the first entry of the next page, so that what is pushed, taken or deleted between
 * two pages makes none be passed over. When that very entry is gone, the list goes on where it would be (a set), or
 * where nothing that is left can be missed (a queue): then some may be shown twice.
 *
 * A page costs O(limit), as long as few entries have moved since the last one.
 *
 * @module
 */
import type { Entry, Page, PageRequest, Place, SetName } from "../admin.ts";
import { CursorError } from "../cursor.ts";
import { entryOf, type Found, readLeases, readOwners, readQueue, readSet, readTokens } from "./entries.ts";
import { queueKey, SETS } from "./keys.ts";
import type { Link } from "./link.ts";
import { locate } from "./locate.ts";
import { parseRef } from "./refs.ts";

const DEFAULT_LIMIT = 25;

/** See `StoreAdmin.page`. */
export async function readPage(link: Link, place: Place, request: PageRequest = {}): Promise<Page> {
  const limit = request.limit ?? DEFAULT_LIMIT;
  const reverse = request.reverse ?? false;
  const found = await readFrom(link, place, { cursor: request.cursor, count: limit + 1, reverse });
  const entries: Entry[] = found.slice(0, limit).map(entryOf);
  const next = found[limit];
  return next ? { entries, next: entryOf(next).ref } : { entries };
}

interface From {
  readonly cursor: string | undefined;
  readonly count: number;
  readonly reverse: boolean;
}

async function readFrom(link: Link, place: Place, from: From): Promise<Found[]> {
  if (place.in === "leased") return await leasesFrom(link, from);
  const start = from.cursor === undefined ? undefined : await startAt(link, place, from.cursor, from.reverse);
  const read = place.in === "queue"
    ? (at: number, count: number) => readQueue(link, place.queue, at, count)
    : (at: number, count: number) => readSet(link, place.in as SetName, at, count);
  if (!from.reverse) return await read(start ?? 0, from.count);
  const last = start ?? await sizeOf(link, place) - 1;
  const first = Math.max(0, last - from.count + 1);
  return (await read(first, last - first + 1)).reverse();
}

/** The position of the cursor's entry, or where to go on when it is gone. */
async function startAt(link: Link, place: Place, cursor: string, reverse: boolean): Promise<number | undefined> {
  const ref = parseRef(cursor);
  if (!ref || ref.in !== place.in || ref.in === "leased") throw new CursorError(cursor);
  const found = await locate(link, ref, { near: true });
  if (found && found.position >= 0) return found.position;
  if (ref.in === "queue") return reverse ? Math.min(ref.position, await sizeOf(link, place) - 1) : 0;
  // Moved in rank or gone: begin with all members of its score.
  const key = SETS[ref.in];
  return reverse
    ? await link.call(["ZCOUNT", key, "-inf", `${ref.score}`]) as number - 1
    : await link.call(["ZCOUNT", key, "-inf", `(${ref.score}`]) as number;
}

async function sizeOf(link: Link, place: Place): Promise<number> {
  const size = place.in === "queue"
    ? link.call(["LLEN", queueKey(place.queue)])
    : link.call(["ZCARD", SETS[place.in as SetName]]);
  return await size as number;
}

/** Leases by process, then in the order of taking. */
async function leasesFrom(link: Link, { cursor, count, reverse }: From): Promise<Found[]> {
  const ref = cursor === undefined ? undefined : parseRef(cursor);
  const start = ref?.in === "leased" ? ref : undefined;
  if (cursor !== undefined && start === undefined) throw new CursorError(cursor);
  const owners = await readOwners(link);
  if (reverse) owners.reverse();
  const found: Found[] = [];
  for (const owner of owners) {
    if (found.length >= count) break;
    if (start && (reverse ? owner > start.owner : owner < start.owner)) continue;
    let tokens = await readTokens(link, owner);
    if (reverse) tokens.reverse();
    if (start && owner === start.owner) {
      tokens = tokens.filter((token) => reverse ? token <= start.token : token >= start.token);
    }
    found.push(...await readLeases(link, owner, tokens.slice(0, count - found.length)));
  }
  return found;
}
