/**
 * Follows the stream of a job, chunk by chunk, until the job has ended.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { elementsOf } from "../../job/json_elements.ts";
import { readEnded } from "../../job/result.ts";
import type { JobStore } from "../port/jobs.ts";
import type { ResultStore } from "../port/results.ts";
import type { ServerStore } from "../port/store.ts";
import type { StreamPart, StreamStore } from "../port/streams.ts";

/** A job without a stream is looked up this often: its end may leave no trace. */
const LOOK_UP_MS = 15_000;

/** The parts of the store that a stream is read from. */
export interface StreamReader extends Pick<ServerStore, "watch"> {
  readonly jobs: Pick<JobStore, "find">;
  readonly results: Pick<ResultStore, "read">;
  readonly streams: Pick<StreamStore, "read">;
}

/** A chunk of a stream, or a gap: chunks that were dropped. */
export type StreamItem =
  | {
    readonly number: number;
    /** The number of the run, from 1: it rises when the job runs again. */
    readonly run: number;
    readonly attempt: number;
    /** JSON text. */
    readonly chunk: string;
  }
  /** The first and the last number of a gap. */
  | { readonly number: number; readonly gapFrom: number };

/** Options of {@linkcode followStream}. */
export interface FollowOptions {
  readonly clock: Clock;
  /** Begins after the chunk with this number. */
  readonly after: number;
  /** Ends the wait for more chunks. */
  readonly signal: AbortSignal;
}

/**
 * Returns the next items of a stream, which are there already.
 *
 * @returns undefined if the job has no stream
 */
export async function readStream(
  { streams }: Pick<StreamReader, "streams">,
  jid: string,
  after: number,
): Promise<{ readonly items: readonly StreamItem[]; readonly ended: boolean } | undefined> {
  const page = await streams.read(jid, after);
  if (page === undefined) return undefined;
  const items: StreamItem[] = [];
  let last = after;
  for (const part of page.parts) {
    for (const item of itemsOf(part)) {
      if (item.number <= last) continue;
      if (item.number > last + 1) items.push({ number: item.number - 1, gapFrom: last + 1 });
      items.push(item);
      last = item.number;
    }
  }
  // The latest chunks were dropped by the worker, or the reader has a number of another stream.
  return { items, ended: page.ended && page.parts.length === 0 };
}

function* itemsOf({ last, run, attempt, body }: StreamPart): Generator<StreamItem & { readonly chunk: string }> {
  const chunks = [...elementsOf(body, body.length)];
  for (const [i, chunk] of chunks.entries()) yield { number: last - chunks.length + 1 + i, run, attempt, chunk };
}

/**
 * Yields the chunks of a job as they are written; an empty list when there was nothing for a while. Ends when the job has ended, or
 * the signal aborts. The caller decides when it reads on: nothing gathers here.
 */
export async function* followStream(
  store: StreamReader,
  jid: string,
  { clock, after, signal }: FollowOptions,
): AsyncGenerator<readonly StreamItem[]> {
  let last = after;
  const hadRecord = (await store.results.read({ jids: [jid] })).records.length > 0;
  while (!signal.aborted) {
    const page = await readStream(store, jid, last);
    if (page === undefined ? await hasEnded(store, jid) : page.ended) return;
    const items = page?.items ?? [];
    last = items.at(-1)?.number ?? last;
    if (items.length > 0) {
      yield items;
      continue;
    }
    const woken = new AbortController();
    const stop = AbortSignal.any([signal, woken.signal]);
    const late = clock.sleep(LOOK_UP_MS, stop).then(() => woken.abort());
    const waits = [store.watch({ stream: jid, after: last }, stop)];
    // A job that ends without a stream may leave a record.
    if (page === undefined && !hadRecord) waits.push(store.watch({ result: jid }, stop));
    const isMore = await Promise.race(waits);
    woken.abort();
    await late;
    await Promise.all(waits);
    if (!isMore) yield [];
  }
}

/** Returns whether a job has ended. One that is dead has a record, and may have been retried since. */
async function hasEnded({ jobs, results }: StreamReader, jid: string): Promise<boolean> {
  const [record] = (await results.read({ jids: [jid] })).records;
  if (record !== undefined && readEnded(record).state !== "dead") return true;
  return (await jobs.find([jid])).every(({ place }) => place.in === "dead");
}
