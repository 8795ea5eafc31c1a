/**
 * Entries by jid, and by a text in their payloads. Redis has no index for either, and what others write would be missing
 * in one of ours: everything is looked at, O(all jobs).
 *
 * It is looked at here, as the server is quickest when it just hands the payloads over: a script that matches holds it up
 * four times as long, and `ZSCAN` eight times; with `MATCH`, fourteen times.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { getField } from "../../job/raw.ts";
import type { Entry, SetName } from "../admin/admin.ts";
import { hasText } from "../ops/search.ts";
import { nameOf, splitName } from "../port/groups.ts";
import { StoreError } from "../port/errors.ts";
import { type Member, member } from "./context.ts";
import { entryOf, type Found, readLeases, readOwners, readTokens } from "./entries.ts";
import { groupedQueues, queuedGroups } from "./groups.ts";
import { queueKey, QUEUES, SETS } from "./keys.ts";
import type { ReconnectingClient } from "./client/reconnecting_client.ts";
import { inWindows, MAX_WINDOW, type Read, type Reader, WindowSize } from "./scan_windows.ts";

/** What is looked for. */
interface Wanted {
  /** Whether it can be that: without making a text of the bytes, which would take longer than all else. */
  maybe(payload: Buffer): boolean;
  /** Whether it is that. */
  is(payload: string): boolean;
}

/** Of more jids, it takes longer to look for each in the bytes than to read the text. */
const FEW = 10;

/** See `AdminStore.find`. */
export async function find(client: ReconnectingClient, jids: readonly string[]): Promise<Entry[]> {
  const entries: Entry[] = [];
  if (jids.length === 0) return entries;
  for await (const found of everything(client, withJid([...new Set(jids)]))) entries.push(entryOf(found));
  return entries;
}

/** See `AdminStore.search`. */
export async function search(client: ReconnectingClient, text: string, limit: number): Promise<Entry[]> {
  const entries: Entry[] = [];
  if (limit < 1) return entries;
  const wanted = text.toLowerCase();
  for await (const found of everything(client, { maybe: () => true, is: (payload) => hasText(payload, wanted) })) {
    entries.push(entryOf(found));
    if (entries.length >= limit) break;
  }
  return entries;
}

/** A jid as most write it; or as others may: with one of its characters, or of the field's name, as an escape. */
function withJid(jids: readonly string[]): Wanted {
  const wanted: ReadonlySet<unknown> = new Set(jids);
  const is = (payload: string) => wanted.has(getField(payload, "jid"));
  const all = jids.join("");
  // U+FFFD stands for any bytes that are no UTF-8.
  if (jids.length > FEW || all.includes("\ufffd")) return { maybe: () => true, is };
  const texts = jids.map((jid) => Buffer.from(JSON.stringify(jid).slice(1, -1)).toString("latin1"));
  const units = [...new Set(`jid${all}`.split(""))].map((unit) => unit.charCodeAt(0).toString(16).padStart(4, "0"));
  const escape = new RegExp(`\\\\(?:u(?:${units.join("|")})${all.includes("/") ? "|/" : ""})`, "i");
  return {
    maybe(payload) {
      const bytes = payload.toString("latin1");
      return texts.some((text) => bytes.includes(text)) || bytes.includes("\\") && escape.test(bytes);
    },
    is,
  };
}

/**
 * Everything that is wanted, wherever it is. In the order in which jobs travel, so that one that moves on meanwhile is
 * rather seen twice than not at all.
 */
async function* everything(client: ReconnectingClient, wanted: Wanted): AsyncGenerator<Found> {
  for (const set of ["scheduled", "retry"] as const) yield* inSet(client, set, wanted);
  yield* inQueues(client, wanted);
  for (const owner of await readOwners(client)) {
    const tokens = await readTokens(client, owner);
    for (let i = 0; i < tokens.length;) {
      const { found, count } = await readLeases(client, owner, tokens.slice(i, i + MAX_WINDOW));
      for (const one of found) {
        if (wanted.is(one.member.text)) yield one;
      }
      i += count;
    }
  }
  yield* inSet(client, "dead", wanted);
}

/** Reads the sizes of a thousand queues at a time: where there are many, each has few jobs, and one by one is all waiting. */
async function* inQueues(client: ReconnectingClient, wanted: Wanted): AsyncGenerator<Found> {
  const queues = (await client.call(["SMEMBERS", QUEUES]) as string[]).sort();
  const names = [...queues];
  for (const queue of await groupedQueues(client, queues)) {
    for (const group of (await queuedGroups(client, queue)).sort()) names.push(nameOf(queue, group));
  }
  const size = new WindowSize();
  for (let i = 0; i < names.length; i += MAX_WINDOW) {
    const some = names.slice(i, i + MAX_WINDOW);
    const sizes = await Promise.all(some.map((queue) => sizeOf(client, queue)));
    for (const step of stepsOf(some.map((queue, j) => ({ queue, size: sizes[j]! })), size)) {
      if (step.length === 1) yield* inQueue(client, step[0]!.queue, wanted);
      else {
        const read = await Promise.all(step.map(({ queue, size }) => fromBack(client, queue, size)(0, size)));
        size.note(read.flatMap(({ payloads }) => payloads));
        for (const [j, { queue }] of step.entries()) yield* inPart(queue, read[j]!, wanted);
      }
    }
  }
}

interface Queue {
  readonly queue: string;
  readonly size: number;
}

/** Queues that are read at once: one, or some that have no more jobs than a window. */
function* stepsOf(queues: readonly Queue[], window: WindowSize): Generator<Queue[]> {
  let step: Queue[] = [];
  let jobs = 0;
  for (const one of queues) {
    if (one.size === 0) continue;
    if (jobs + one.size > window.count && step.length > 0) {
      yield step;
      step = [];
      jobs = 0;
    }
    step.push(one);
    jobs += one.size;
  }
  if (step.length > 0) yield step;
}

async function* inQueue(client: ReconnectingClient, queue: string, wanted: Wanted): AsyncGenerator<Found> {
  const windows = inWindows(async () => fromBack(client, queue, await sizeOf(client, queue)));
  for await (const part of windows) yield* inPart(queue, part, wanted);
}

function* inPart(queue: string, { payloads, end }: Read, wanted: Wanted): Generator<Found> {
  for (const [i, bytes] of payloads.entries()) {
    const one = matching(bytes, wanted);
    if (one) {
      yield { place: { in: "queue", ...splitName(queue) }, member: one, position: end! + payloads.length - 1 - i };
    }
  }
}

/** From the back on: what is taken from the front meanwhile shifts nothing out of what is still to be read. */
function fromBack(client: ReconnectingClient, queue: string, size: number): Reader {
  return async (from, count) => {
    // Counted from the front, as jobs that are pushed meanwhile do not shift it.
    const end = Math.max(0, size - from - count);
    const begin = size - from;
    if (begin <= end) return { payloads: [], end, last: true };
    // All that is behind: what was given back to the front since it was counted has shifted it.
    const range = ["LRANGE", queueKey(queue), from === 0 ? "0" : `${-begin}`, `${-end - 1}`];
    return { payloads: await client.call(range, { bytes: true }) as Buffer[], end, last: end === 0 };
  };
}

/** A key that is no list, because another program wrote it, has no jobs. */
async function sizeOf(client: ReconnectingClient, queue: string): Promise<number> {
  try {
    return await client.call(["LLEN", queueKey(queue)]) as number;
  } catch (error) {
    if (error instanceof StoreError && error.code === "wrong") return 0;
    throw error;
  }
}

/** From the latest on: what falls due, or is too old, leaves from what is still to be read, and shifts nothing. */
async function* inSet(client: ReconnectingClient, set: SetName, wanted: Wanted): AsyncGenerator<Found> {
  const read: Reader = async (from, count) => {
    const range = ["ZRANGE", SETS[set], `${from}`, `${from + count - 1}`, "REV"];
    const payloads = await client.call(range, { bytes: true }) as Buffer[];
    return { payloads, last: payloads.length < count };
  };
  const seen = new Set<string>();
  for await (const { payloads } of inWindows(() => read)) {
    for (const bytes of payloads) {
      const one = matching(bytes, wanted);
      if (!one || seen.has(one.text)) continue;
      seen.add(one.text);
      // Asked for those alone: with all their scores, members take four times as long. None when it has just moved on.
      const score = await client.call(["ZSCORE", SETS[set], one.exact]) as number | null;
      yield { place: { in: set }, member: one, position: -1, ...(score !== null && { score }) };
    }
  }
}

function matching(bytes: Buffer, wanted: Wanted): Member | undefined {
  if (!wanted.maybe(bytes)) return undefined;
  const one = member(bytes);
  return wanted.is(one.text) ? one : undefined;
}
