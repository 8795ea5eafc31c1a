/**
 * Records of ended jobs: one string per job, with its TTL, and a sorted set of the jids in the order in which the jobs ended.
 *
 * @module
 */
import { hasText } from "../ops/search.ts";
import { MAX_BATCH_BYTES } from "../port/batch_bytes.ts";
import { numberIn } from "../port/cursor.ts";
import type { SearchWatch } from "../port/entries.ts";
import type { NewRecord, RecordPage, RecordRequest, ResultStore } from "../port/results.ts";
import { type Context, serverTime } from "./context.ts";
import { resultKey, RESULTS_CHANNEL } from "./keys.ts";
import { SCRIPTS } from "./client/scripts.ts";
import { JidChannel } from "./wait/jid_channel.ts";

/** Records that one step of a search reads. */
const SEARCH_STEP = 1_000;

/** Returns a record as script arguments. */
export function packRecord({ jid, ttlMs, body }: NewRecord): [jid: string, ttlMs: string, body: string] {
  return [jid, Number.isFinite(ttlMs) ? `${Math.max(1, Math.round(ttlMs))}` : "", body];
}

/** Records that were read in one step. */
interface Step {
  readonly bodies: readonly string[];
  /** Whether the step ended early because the records are large. */
  readonly isCut: boolean;
  readonly next?: string;
}

/** Reads records, and waits for them. */
export class Results implements ResultStore {
  readonly #context: Context;
  readonly #channel: JidChannel;

  constructor(context: Context) {
    this.#context = context;
    this.#channel = new JidChannel(context, RESULTS_CHANNEL);
  }

  /** Resolves when the record of a job is kept, or when `stop` aborts. */
  wait(jid: string, stop: AbortSignal): Promise<void> {
    return this.#channel.wait(jid, async () => await this.#get(jid) !== undefined, stop);
  }

  async #get(jid: string): Promise<string | undefined> {
    const [entry, now] = await Promise.all([
      this.#context.client.call(["GET", resultKey(jid)]) as Promise<string | null>,
      serverTime(this.#context),
    ]);
    return entry === null ? undefined : readEntry(entry, now);
  }

  async read(request: RecordRequest = {}): Promise<RecordPage> {
    if ("jids" in request) {
      const bodies = await Promise.all(request.jids.map((jid) => this.#get(jid)));
      return { records: bodies.filter((body) => body !== undefined) };
    }
    if ("text" in request) return { records: await this.#search(request) };
    const limit = request.limit ?? 25;
    const records: string[] = [];
    let cursor = request.cursor;
    for (let isFull = false; !isFull;) {
      const { bodies, next, isCut } = await this.#step(cursor, limit - records.length);
      records.push(...bodies);
      cursor = next;
      isFull = isCut || records.length >= limit || cursor === undefined;
    }
    return { records, ...(cursor !== undefined && { next: cursor }) };
  }

  async #search(
    { text, limit, signal, onStep }: SearchWatch & { readonly text: string; readonly limit: number },
  ): Promise<string[]> {
    const wanted = text.toLowerCase();
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const { bodies, next } = await this.#step(cursor, SEARCH_STEP);
      found.push(...bodies.filter((body) => hasText(body, wanted)));
      cursor = next;
      onStep?.(bodies.length);
    } while (found.length < limit && cursor !== undefined && !signal?.aborted);
    return found.slice(0, limit);
  }

  /** Reads records from a cursor on. A cursor is the number of the last record before it. */
  async #step(cursor: string | undefined, limit: number): Promise<Step> {
    const { client } = this.#context;
    const last = numberIn(cursor);
    const before = last === undefined ? "+inf" : `(${last}`;
    const args = { before, limit, maxBytes: MAX_BATCH_BYTES };
    const [now, [next, isCut, ...entries]] = await Promise.all([
      serverTime(this.#context),
      client.run(SCRIPTS.readRecords, args) as Promise<[string, 0 | 1, ...string[]]>,
    ]);
    const bodies = entries.flatMap((entry) => readEntry(entry, now) ?? []);
    return { bodies, isCut: isCut === 1, ...(next !== "" && { next }) };
  }
}

/** Parses `EXPIRES BODY`. Redis deletes by its clock; this checks the store's. */
function readEntry(entry: string, now: number): string | undefined {
  const space = entry.indexOf(" ");
  const expires = entry.slice(0, space);
  return expires !== "" && Number(expires) <= now ? undefined : entry.slice(space + 1);
}
