/**
 * Reads entries: windows of a queue, of a set, of the leases. A position in a queue counts from its front, the right end of
 * the list. A position in a set is the rank.
 *
 * @module
 */
import type { Buffer } from "node:buffer";
import type { Entry, Place, SetName } from "../port/entries.ts";
import { MAX_BATCH_BYTES } from "../port/batch_bytes.ts";
import { nameOf, splitName } from "../port/groups.ts";
import { CANCELLED_WORKER } from "../port/workers.ts";
import { type Member, member } from "./context.ts";
import { leasesKey, queueKey, SETS, WORKERS } from "./keys.ts";
import type { ReconnectingClient } from "./client/reconnecting_client.ts";
import { digestOf, formatRef, type Ref } from "./refs.ts";
import { SCRIPTS } from "./client/scripts.ts";
import { takenAt } from "./take.ts";

/** An entry as it was found, with the data needed to move it. */
export interface Found {
  readonly place: Place;
  readonly member: Member;
  /** Its position then; negative if unknown. */
  readonly position: number;
  /** In a set: its score, in seconds. */
  readonly score?: number;
  /** A lease: the worker that has it, and its token. */
  readonly lease?: FoundLease;
}

/** A lease as it was found. */
export interface FoundLease {
  readonly worker: string;
  readonly token: string;
  readonly isCancelled: boolean;
}

/** The code of "1". */
const DIGIT_ONE = 0x31;

/** Size of the first window, when the sizes of the payloads are unknown. */
export const FIRST_WINDOW = 16;

/** Returns the size of the next window, for about {@linkcode MAX_BATCH_BYTES} of payloads at most. */
export function nextWindow(last: readonly Found[], max: number): number {
  if (last.length === 0) return max;
  const bytes = last.reduce((sum, { member: { exact } }) => sum + exact.length, 1);
  return Math.max(1, Math.min(max, 4 * last.length, Math.floor(MAX_BATCH_BYTES / bytes * last.length)));
}

/** Reads `count` jobs of a queue or a group, by its name, oldest first, from a position on. */
export async function readQueue(
  client: ReconnectingClient,
  queue: string,
  from: number,
  count: number,
): Promise<Found[]> {
  if (count < 1) return [];
  const range = ["LRANGE", queueKey(queue), `${-from - count}`, `${-from - 1}`];
  const jobs = await client.call(range, { bytes: true }) as Buffer[];
  const place: Place = { in: "queue", ...splitName(queue) };
  return jobs.reverse().map((bytes, i) => ({ place, member: member(bytes), position: from + i }));
}

/** Reads `count` members of a set, earliest first, from a rank on. */
export async function readSet(client: ReconnectingClient, set: SetName, from: number, count: number): Promise<Found[]> {
  if (count < 1) return [];
  const range = ["ZRANGE", SETS[set], `${from}`, `${from + count - 1}`, "WITHSCORES"];
  const members = await client.call(range, { bytes: true }) as [Buffer, number][];
  return members.map(([bytes, score], i) => ({ place: { in: set }, member: member(bytes), position: from + i, score }));
}

/** Reads the members of a set with this score. */
export async function readScore(
  client: ReconnectingClient,
  set: SetName,
  score: number,
  from: number,
  count: number,
): Promise<Found[]> {
  const at = `${score}`;
  const range = ["ZRANGE", SETS[set], at, at, "BYSCORE", "LIMIT", `${from}`, `${count}`];
  const members = await client.call(range, { bytes: true }) as Buffer[];
  return members.map((bytes) => ({ place: { in: set }, member: member(bytes), position: -1, score }));
}

/** Returns the IDs of the workers that have leases, or may have, in order. */
export async function readWorkers(client: ReconnectingClient): Promise<string[]> {
  return (await client.call(["ZRANGE", WORKERS, "0", "-1"]) as string[]).sort();
}

/** Returns the tokens of a worker's leases, in the order of taking. */
export async function readTokens(client: ReconnectingClient, worker: string): Promise<string[]> {
  return (await client.call(["HKEYS", leasesKey(worker)]) as string[]).sort();
}

/** The result of {@linkcode readLeases}. */
export interface FoundLeases {
  /** The leases that still exist. */
  readonly found: Found[];
  /** The first tokens, this many, were looked up. */
  readonly count: number;
}

/**
 * Reads leases, up to `maxBytes` of payloads.
 *
 * @param isFirst reads the first lease even if it is larger
 */
export async function readLeases(
  client: ReconnectingClient,
  worker: string,
  tokens: readonly string[],
  { maxBytes = MAX_BATCH_BYTES, isFirst = true }: { readonly maxBytes?: number; readonly isFirst?: boolean } = {},
): Promise<FoundLeases> {
  if (tokens.length === 0) return { found: [], count: 0 };
  const args = { leases: leasesKey(worker), maxBytes, isFirst, tokens };
  const [digits, ...payloads] = await client.run(SCRIPTS.readLeases, args, {
    bytes: true,
  }) as [Buffer, ...(Buffer | null)[]];
  const isCancelled = (i: number) => worker === CANCELLED_WORKER || digits[i] === DIGIT_ONE;
  const found = payloads.flatMap((bytes, i) =>
    bytes
      ? [{
        place: { in: "running" } as const,
        member: member(bytes),
        position: -1,
        lease: { worker, token: tokens[i]!, isCancelled: isCancelled(i) },
      }]
      : []
  );
  return { found, count: payloads.length };
}

/** Returns the ref that names an entry. */
function refOf({ place, member: { exact }, position, score, lease }: Found): Ref {
  switch (place.in) {
    case "queue":
      return { in: "queue", queue: nameOf(place.queue, place.group), digest: digestOf(exact), position };
    case "running":
      return { in: "running", worker: lease!.worker, token: lease!.token };
    default:
      return { in: place.in, digest: digestOf(exact), position, score: score! };
  }
}

/** Converts to an entry of the port. */
export function entryOf(found: Found): Entry {
  const { place, member: { text }, score, lease } = found;
  return {
    ref: formatRef(refOf(found)),
    place,
    payload: text,
    ...(score === undefined ? {} : { at: Math.round(score * 1000) }),
    ...(lease ? { at: takenAt(lease.token), worker: lease.worker } : {}),
    ...(lease?.isCancelled ? { cancelled: true } : {}),
  };
}
