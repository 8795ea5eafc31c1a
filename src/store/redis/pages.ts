/**
 * Lists in pages. A cursor names the first entry of the next page, so that pushes, takes and deletions between two pages skip
 * none. If that entry has moved, a set continues at its score, and a queue at a position before which no entry is missed:
 * some entries may then be shown twice.
 *
 * A page ends early if its payloads exceed {@linkcode MAX_BATCH_BYTES}. It costs O(limit) if few entries have moved since the
 * last page.
 *
 * @module
 */
import type { Buffer } from "node:buffer";
import type { Page, PageRequest, Place, SetName } from "../port/entries.ts";
import { MAX_BATCH_BYTES } from "../port/batch_bytes.ts";
import { CursorError } from "../port/cursor.ts";
import { member } from "./context.ts";
import { entryOf, type Found, readLeases, readTokens, readWorkers } from "./entries.ts";
import { listKey, SETS } from "./keys.ts";
import type { ReconnectingClient } from "./client/reconnecting_client.ts";
import { locate } from "./locate.ts";
import { formatRef, parseRef } from "./refs.ts";
import { SCRIPTS } from "./client/scripts.ts";

const DEFAULT_LIMIT = 25;

/** See `AdminStore.page`. */
export async function readPage(
  client: ReconnectingClient,
  place: Place,
  { cursor, limit = DEFAULT_LIMIT, reverse = false }: PageRequest = {},
): Promise<Page> {
  const full = { cursor, limit, reverse };
  const { found, next } = place.in === "running"
    ? await leasedPage(client, full)
    : await placePage(client, place, full);
  return { entries: found.map(entryOf), ...(next !== undefined && { next }) };
}

/** A page request with its defaults. */
interface FullRequest {
  readonly cursor: string | undefined;
  readonly limit: number;
  readonly reverse: boolean;
}

interface FoundPage {
  readonly found: readonly Found[];
  readonly next?: string | undefined;
}

/** Reads a page of a queue or a set, and one entry more: the cursor. */
async function placePage(
  client: ReconnectingClient,
  place: Listed,
  { cursor, limit, reverse }: FullRequest,
): Promise<FoundPage> {
  const start = cursor === undefined ? undefined : await startAt(client, place, cursor, reverse);
  const first = start ?? (reverse ? Number.MAX_SAFE_INTEGER : 0);
  const bounds = { position: first, limit: limit + 1, maxBytes: MAX_BATCH_BYTES };
  const args = { key: keyOf(place), isQueue: place.in === "queue", ...bounds, reverse };
  const reply = await client.run(SCRIPTS.readEntries, args, { bytes: true }) as [number, 0 | 1, ...Buffer[]];
  const found = readWindow(place, reply, reverse);
  const [, isCut] = reply;
  const shown = isCut ? found.slice(0, -1) : found.slice(0, limit);
  const next = found[shown.length];
  return { found: shown, next: next && entryOf(next).ref };
}

/** A place whose entries have positions. */
type Listed = Exclude<Place, { readonly in: "running" }>;

function keyOf(place: Listed): string {
  return place.in === "queue" ? listKey(place) : SETS[place.in as SetName];
}

function readWindow(place: Listed, [first, , ...rest]: [number, 0 | 1, ...Buffer[]], reverse: boolean): Found[] {
  const found: Found[] = [];
  const width = place.in === "queue" ? 1 : 2;
  for (let i = 0; i < rest.length; i += width) {
    const position = reverse ? first - i / width : first + i / width;
    const score = width === 1 ? {} : { score: readScoreText(rest[i + 1]!.toString()) };
    found.push({ place, member: member(rest[i]!), position, ...score });
  }
  return found;
}

/** Reads a score as a script returns it: other programs may have set an infinite one. */
function readScoreText(text: string): number {
  return Number(text.replace("inf", "Infinity"));
}

/** Returns the position of the cursor's entry, or where to continue if it has moved. */
async function startAt(
  client: ReconnectingClient,
  place: Listed,
  cursor: string,
  reverse: boolean,
): Promise<number | undefined> {
  const ref = parseRef(cursor);
  if (!ref || ref.in === "running" || ref.in !== place.in) throw new CursorError(cursor);
  const found = await locate(client, ref, { near: true });
  if (found && found.position >= 0) return found.position;
  if (ref.in === "queue") return reverse ? Math.min(ref.position, await sizeOf(client, place) - 1) : 0;
  // Begin with all members of its score.
  const key = SETS[ref.in];
  return reverse
    ? await client.call(["ZCOUNT", key, "-inf", `${ref.score}`]) as number - 1
    : await client.call(["ZCOUNT", key, "-inf", `(${ref.score}`]) as number;
}

async function sizeOf(client: ReconnectingClient, place: Listed): Promise<number> {
  return await client.call([place.in === "queue" ? "LLEN" : "ZCARD", keyOf(place)]) as number;
}

/** Reads a page of leases, by worker, then in the order of taking. */
async function leasedPage(client: ReconnectingClient, { cursor, limit, reverse }: FullRequest): Promise<FoundPage> {
  const ref = cursor === undefined ? undefined : parseRef(cursor);
  const start = ref?.in === "running" ? ref : undefined;
  if (cursor !== undefined && start === undefined) throw new CursorError(cursor);
  const workers = await readWorkers(client);
  if (reverse) workers.reverse();
  const found: Found[] = [];
  let left = MAX_BATCH_BYTES;
  for (const worker of workers) {
    if (start && (reverse ? worker > start.worker : worker < start.worker)) continue;
    let tokens = await readTokens(client, worker);
    if (reverse) tokens.reverse();
    if (start && worker === start.worker) {
      tokens = tokens.filter((token) => reverse ? token <= start.token : token >= start.token);
    }
    const wanted = tokens.slice(0, limit - found.length);
    const some = await readLeases(client, worker, wanted, { maxBytes: left, isFirst: found.length === 0 });
    for (const one of some.found) {
      found.push(one);
      left -= one.member.exact.length;
    }
    const next = tokens[some.count];
    if (next !== undefined) return { found, next: formatRef({ in: "running", worker, token: next }) };
  }
  return { found };
}
