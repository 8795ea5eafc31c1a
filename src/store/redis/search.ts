/**
 * Finds entries by jid, and by a text in their payloads. Redis has no index for either, and an index of this program would miss
 * the jobs that other programs write. All jobs are read: O(all jobs).
 *
 * This process matches them: the server spends the least time if it only sends the payloads. A script that matches takes four
 * times as long, `ZSCAN` eight times, and `ZSCAN` with `MATCH` fourteen times.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { getField } from "../../job/raw.ts";
import type { Entry, SearchWatch, SetName, TextSelection } from "../port/entries.ts";
import { hasText } from "../ops/search.ts";
import { nameOf, splitName } from "../port/groups.ts";
import { StoreError } from "../port/errors.ts";
import { type Member, member } from "./context.ts";
import { entryOf, type Found, readLeases, readTokens, readWorkers } from "./entries.ts";
import { groupedQueues, queuedGroups } from "./groups.ts";
import { queueKey, QUEUES, SETS } from "./keys.ts";
import type { ReconnectingClient } from "./client/reconnecting_client.ts";
import { inWindows, MAX_WINDOW, type Read, type Reader, WindowSize } from "./scan_windows.ts";

/** Matches payloads. */
interface Matcher {
  /** Returns whether the payload may match, without decoding the bytes, which takes longer than everything else. */
  maybe(payload: Buffer): boolean;
  /** Returns whether the payload matches. */
  is(payload: string): boolean;
  /** Observes the search. */
  readonly watch?: SearchWatch;
}

/** With more jids, searching the bytes for each takes longer than decoding the text. */
const MAX_BYTE_SEARCHES = 10;

/** See `JobStore.find`. */
export async function find(
  client: ReconnectingClient,
  selection: readonly string[] | TextSelection,
): Promise<Entry[]> {
  const [matcher, limit] = "text" in selection
    ? [textMatcher(selection), selection.limit]
    : [jidMatcher([...new Set(selection)]), selection.length > 0 ? Infinity : 0];
  const entries: Entry[] = [];
  if (limit < 1) return entries;
  try {
    for await (const found of allMatches(client, matcher)) {
      entries.push(entryOf(found));
      if (entries.length >= limit) break;
    }
  } catch (error) {
    if (!(error instanceof SearchEnded)) throw error;
  }
  return entries;
}

function textMatcher({ text, ...watch }: TextSelection): Matcher {
  const lowerCase = text.toLowerCase();
  return { maybe: () => true, is: (payload) => hasText(payload, lowerCase), watch };
}

/** The search was ended. */
class SearchEnded extends Error {}

/** Reports a step. @throws {SearchEnded} if the search was ended */
function report({ watch }: Matcher, count: number): void {
  watch?.onStep?.(count);
  if (watch?.signal?.aborted) throw new SearchEnded();
}

/** Matches payloads by jid. A client may write a character of the jid, or of the field's name, as an escape. */
function jidMatcher(jids: readonly string[]): Matcher {
  const set: ReadonlySet<unknown> = new Set(jids);
  const is = (payload: string) => set.has(getField(payload, "jid"));
  const all = jids.join("");
  // U+FFFD replaces any bytes that aren't valid UTF-8.
  if (jids.length > MAX_BYTE_SEARCHES || all.includes("\ufffd")) return { maybe: () => true, is };
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
 * Yields all matching entries, in the order in which jobs move from place to place: a job that moves during the search may be
 * found twice, but isn't missed.
 */
async function* allMatches(client: ReconnectingClient, matcher: Matcher): AsyncGenerator<Found> {
  for (const set of ["scheduled", "retry"] as const) yield* inSet(client, set, matcher);
  yield* inQueues(client, matcher);
  for (const worker of await readWorkers(client)) {
    const tokens = await readTokens(client, worker);
    for (let i = 0; i < tokens.length;) {
      const { found, count } = await readLeases(client, worker, tokens.slice(i, i + MAX_WINDOW));
      for (const one of found) {
        if (matcher.is(one.member.text)) yield one;
      }
      i += count;
      report(matcher, count);
    }
  }
  yield* inSet(client, "dead", matcher);
}

/** Reads the sizes of a thousand queues at a time: many queues have few jobs each, and single reads would mostly wait. */
async function* inQueues(client: ReconnectingClient, matcher: Matcher): AsyncGenerator<Found> {
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
      if (step.length === 1) yield* inQueue(client, step[0]!.queue, matcher);
      else {
        const read = await Promise.all(step.map(({ queue, size }) => fromBack(client, queue, size)(0, size)));
        size.note(read.flatMap(({ payloads }) => payloads));
        for (const [j, { queue }] of step.entries()) yield* inPart(queue, read[j]!, matcher);
      }
    }
  }
}

interface Queue {
  readonly queue: string;
  readonly size: number;
}

/** Yields queues that are read together: one, or several that have no more jobs than a window. */
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

async function* inQueue(client: ReconnectingClient, queue: string, matcher: Matcher): AsyncGenerator<Found> {
  const windows = inWindows(async () => fromBack(client, queue, await sizeOf(client, queue)));
  for await (const part of windows) yield* inPart(queue, part, matcher);
}

function* inPart(queue: string, { payloads, end }: Read, matcher: Matcher): Generator<Found> {
  for (const [i, bytes] of payloads.entries()) {
    const one = matching(bytes, matcher);
    if (one) {
      yield { place: { in: "queue", ...splitName(queue) }, member: one, position: end! + payloads.length - 1 - i };
    }
  }
  report(matcher, payloads.length);
}

/** Reads from the back: a job taken from the front doesn't shift those that are still to be read. */
function fromBack(client: ReconnectingClient, queue: string, size: number): Reader {
  return async (from, count) => {
    // Positions count from the front: jobs pushed during the search don't shift them.
    const end = Math.max(0, size - from - count);
    const begin = size - from;
    if (begin <= end) return { payloads: [], end, last: true };
    // Read up to the very back: jobs released to the front since the count have shifted the others.
    const range = ["LRANGE", queueKey(queue), from === 0 ? "0" : `${-begin}`, `${-end - 1}`];
    return { payloads: await client.call(range, { bytes: true }) as Buffer[], end, last: end === 0 };
  };
}

/** Returns the length of a queue. A key of another program, which isn't a list, has no jobs. */
async function sizeOf(client: ReconnectingClient, queue: string): Promise<number> {
  try {
    return await client.call(["LLEN", queueKey(queue)]) as number;
  } catch (error) {
    if (error instanceof StoreError && error.code === "wrong") return 0;
    throw error;
  }
}

/** Reads from the latest member: due and expired members leave at the other end, and shift none that are still to be read. */
async function* inSet(client: ReconnectingClient, set: SetName, matcher: Matcher): AsyncGenerator<Found> {
  const read: Reader = async (from, count) => {
    const range = ["ZRANGE", SETS[set], `${from}`, `${from + count - 1}`, "REV"];
    const payloads = await client.call(range, { bytes: true }) as Buffer[];
    return { payloads, last: payloads.length < count };
  };
  const seen = new Set<string>();
  for await (const { payloads } of inWindows(() => read)) {
    for (const bytes of payloads) {
      const one = matching(bytes, matcher);
      if (!one || seen.has(one.text)) continue;
      seen.add(one.text);
      // Read the scores of matches only: members with scores take four times as long. A member that has just moved has none.
      const score = await client.call(["ZSCORE", SETS[set], one.exact]) as number | null;
      yield { place: { in: set }, member: one, position: -1, ...(score !== null && { score }) };
    }
    report(matcher, payloads.length);
  }
}

function matching(bytes: Buffer, matcher: Matcher): Member | undefined {
  if (!matcher.maybe(bytes)) return undefined;
  const one = member(bytes);
  return matcher.is(one.text) ? one : undefined;
}
