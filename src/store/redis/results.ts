/**
 * Records of jobs that have ended: a string per job, with its time to live, and one list of who ended, in order.
 *
 * @module
 */
import { systemClock } from "../../clock.ts";
import { hasText } from "../ops/search.ts";
import { MAX_BATCH_BYTES } from "../port/batch_bytes.ts";
import { numberIn } from "../port/cursor.ts";
import { MAX_RECORDS, type NewRecord, type RecordPage, type ResultStore } from "../port/results.ts";
import { type Context, serverTime } from "./context.ts";
import { edit } from "./edit.ts";
import { resultKey, RESULTS_CHANNEL } from "./keys.ts";
import { SCRIPTS } from "./client/scripts.ts";

/** Where nothing is told (its permission is missing, the connection was away), a record is seen so much later. */
const POLL_INTERVAL_MS = 1_000;
const SEARCH_STEP = 1_000;

/** What scripts take of a record. */
export function packRecord({ jid, ttlMs, body }: NewRecord): [jid: string, ttlMs: string, body: string] {
  return [jid, Number.isFinite(ttlMs) ? `${Math.max(1, Math.round(ttlMs))}` : "", body];
}

/** Records that were read in one step. */
interface Step {
  readonly bodies: readonly string[];
  /** Whether it ended early, as the records were large. */
  readonly isCut: boolean;
  readonly next?: string;
}

/** Reads records, and waits for them. */
export class Results implements ResultStore {
  readonly #context: Context;
  /** Those who wait, by the job they wait for. */
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #end = new AbortController();
  #listening = false;

  constructor(context: Context) {
    this.#context = context;
  }

  async keep(record: NewRecord, ref?: string): Promise<boolean> {
    const { client, offset } = this.#context;
    if (ref !== undefined) return await edit(this.#context, [ref], { kind: "delete", record }) === 1;
    return await client.run(SCRIPTS.record, [], [offset(), `${MAX_RECORDS}`, ...packRecord(record)]) === 1;
  }

  async wait(jid: string, signal: AbortSignal): Promise<string | undefined> {
    const over = AbortSignal.any([signal, this.#end.signal]);
    while (!over.aborted) {
      // Who waits from before it looks misses nothing.
      const told = this.#told(jid, over);
      const body = await this.get(jid).catch(() => undefined);
      if (body !== undefined) {
        told.stop();
        return body;
      }
      await told.promise;
    }
    return undefined;
  }

  async get(jid: string): Promise<string | undefined> {
    const [entry, now] = await Promise.all([
      this.#context.client.call(["GET", resultKey(jid)]) as Promise<string | null>,
      serverTime(this.#context),
    ]);
    return entry === null ? undefined : readEntry(entry, now);
  }

  async page(request: { readonly cursor?: string; readonly limit?: number } = {}): Promise<RecordPage> {
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

  async search(text: string, limit: number): Promise<string[]> {
    const wanted = text.toLowerCase();
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const { bodies, next } = await this.#step(cursor, SEARCH_STEP);
      found.push(...bodies.filter((body) => hasText(body, wanted)));
      cursor = next;
    } while (found.length < limit && cursor !== undefined);
    return found.slice(0, limit);
  }

  /** Waits resolve. */
  close(): void {
    this.#end.abort();
  }

  /** The cursor is the last one's number. */
  async #step(cursor: string | undefined, limit: number): Promise<Step> {
    const { client } = this.#context;
    const last = numberIn(cursor);
    const args = [last === undefined ? "+inf" : `(${last}`, `${limit}`, `${MAX_BATCH_BYTES}`];
    const [now, [next, isCut, ...entries]] = await Promise.all([
      serverTime(this.#context),
      client.run(SCRIPTS.records, [], args) as Promise<[string, 0 | 1, ...string[]]>,
    ]);
    const bodies = entries.flatMap((entry) => readEntry(entry, now) ?? []);
    return { bodies, isCut: isCut === 1, ...(next !== "" && { next }) };
  }

  #told(jid: string, signal: AbortSignal): { readonly promise: Promise<void>; stop(): void } {
    const told = new AbortController();
    const wake = () => told.abort();
    const waiters = this.#waiting.get(jid) ?? new Set();
    this.#waiting.set(jid, waiters.add(wake));
    void this.#listen();
    const promise = systemClock.sleep(POLL_INTERVAL_MS, AbortSignal.any([signal, told.signal])).then(() => {
      waiters.delete(wake);
      if (waiters.size === 0) this.#waiting.delete(jid);
    });
    return { promise, stop: wake };
  }

  async #listen(): Promise<void> {
    if (this.#listening) return;
    this.#listening = true;
    try {
      await this.#context.subscriptions.subscribe(RESULTS_CHANNEL, (jid) => {
        for (const wake of this.#waiting.get(jid) ?? []) wake();
      });
    } catch {
      this.#listening = false;
    }
  }
}

/** `EXPIRES BODY`; Redis forgets by its own clock, and we by the store's. */
function readEntry(entry: string, now: number): string | undefined {
  const space = entry.indexOf(" ");
  const expires = entry.slice(0, space);
  return expires !== "" && Number(expires) <= now ? undefined : entry.slice(space + 1);
}
