/**
 * Entries by jid, and by a text in their payloads. Redis has no index for either, so everything is looked at: O(all
 * jobs), in windows that keep each step short for the server.
 *
 * @module
 */
import type { Buffer } from "node:buffer";
import { getField } from "../../job/raw.ts";
import type { Entry, SetName } from "../admin.ts";
import { hasText } from "../admin_search.ts";
import { member } from "./context.ts";
import { entryOf, type Found, readLeases, readOwners, readQueue, readTokens } from "./entries.ts";
import { queueKey, QUEUES, SETS } from "./keys.ts";
import type { Link } from "./link.ts";

const WINDOW = 1_000;

/** See `StoreAdmin.find`. */
export async function find(link: Link, jid: string): Promise<Entry[]> {
  const entries: Entry[] = [];
  const text = JSON.stringify(jid).slice(1, -1);
  for await (const found of everything(link, (payload) => payload.includes(text) || payload.includes("\\u"))) {
    if (getField(found.member.text, "jid") === jid) entries.push(entryOf(found));
  }
  return entries;
}

/** See `StoreAdmin.search`. */
export async function search(link: Link, text: string, limit: number): Promise<Entry[]> {
  const entries: Entry[] = [];
  if (limit < 1) return entries;
  const wanted = text.toLowerCase();
  for await (const found of everything(link, (payload) => hasText(payload, wanted))) {
    entries.push(entryOf(found));
    if (entries.length >= limit) break;
  }
  return entries;
}

type Test = (payload: string) => boolean;

/**
 * Everything whose payload passes, wherever it is. In the order in which jobs travel, so that one that moves on
 * meanwhile is rather seen twice than not at all; the second time it is left out.
 */
async function* everything(link: Link, test: Test): AsyncGenerator<Found> {
  for (const set of ["scheduled", "retry"] as const) yield* inSet(link, set, test);
  yield* inQueues(link, test);
  for (const owner of await readOwners(link)) {
    const tokens = await readTokens(link, owner);
    for (let i = 0; i < tokens.length; i += WINDOW) {
      for (const found of await readLeases(link, owner, tokens.slice(i, i + WINDOW))) {
        if (test(found.member.text)) yield found;
      }
    }
  }
  yield* inSet(link, "dead", test);
}

/** Queues are asked for a thousand at a time: where there are many, each has few jobs, and one by one is all waiting. */
async function* inQueues(link: Link, test: Test): AsyncGenerator<Found> {
  const names = (await link.call(["SMEMBERS", QUEUES]) as string[]).sort();
  for (let i = 0; i < names.length; i += WINDOW) {
    const some = names.slice(i, i + WINDOW);
    const sizes = await Promise.all(some.map((queue) => link.call(["LLEN", queueKey(queue)]) as Promise<number>));
    for (const step of stepsOf(some.flatMap((queue, j) => slicesOf(queue, sizes[j]!)))) {
      const read = await Promise.all(step.map(({ queue, from, count }) => readQueue(link, queue, from, count)));
      for (const found of read.flatMap((slice) => slice.reverse())) {
        if (test(found.member.text)) yield found;
      }
    }
  }
}

interface Slice {
  readonly queue: string;
  readonly from: number;
  readonly count: number;
}

/** From the back on: what is taken from the front meanwhile shifts nothing out of what is still to be read. */
function slicesOf(queue: string, size: number): Slice[] {
  const slices: Slice[] = [];
  for (let end = size; end > 0; end -= WINDOW) {
    const from = Math.max(0, end - WINDOW);
    slices.push({ queue, from, count: end - from });
  }
  return slices;
}

/** What is read at once: no more jobs than a window. */
function* stepsOf(slices: readonly Slice[]): Generator<Slice[]> {
  let step: Slice[] = [];
  let jobs = 0;
  for (const slice of slices) {
    if (jobs + slice.count > WINDOW && step.length > 0) {
      yield step;
      step = [];
      jobs = 0;
    }
    step.push(slice);
    jobs += slice.count;
  }
  if (step.length > 0) yield step;
}

/** A scan returns all that is there all the while, some of it twice. */
async function* inSet(link: Link, set: SetName, test: Test): AsyncGenerator<Found> {
  const seen = new Set<string>();
  let cursor = "0";
  do {
    const scan = ["ZSCAN", SETS[set], cursor, "COUNT", `${WINDOW}`];
    const [next, flat] = await link.call(scan, { bytes: true }) as [Buffer, Buffer[]];
    for (let i = 0; i < flat.length; i += 2) {
      const one = member(flat[i]!);
      if (!test(one.text) || seen.has(one.text)) continue;
      seen.add(one.text);
      yield { place: { in: set }, member: one, position: -1, score: Number(flat[i + 1]) };
    }
    cursor = next.toString();
  } while (cursor !== "0");
}
