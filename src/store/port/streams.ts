/**
 * The streams part of the store port: what jobs print while they run, piece by piece. A stream is written under the lease of its
 * job: a worker that was frozen and has lost the job writes nothing.
 *
 * The chunks of a stream are numbered from 1, over all runs of the job. A number that is missing was dropped: by the worker, whose
 * buffer is bounded, or here, where the latest {@linkcode MAX_STREAM_CHARACTERS} are kept. A stream stays with the record of its
 * ended job, and for {@linkcode TAIL_MS} without one, so that readers get its end. A job with a stream has the mark of a job with
 * steps, so that the end of any other job costs nothing.
 *
 * @module
 */
import type { StepLease } from "./steps.ts";

/** Of a longer stream, the earliest chunks are dropped: in bytes of UTF-8, in every store. */
export const MAX_STREAM_CHARACTERS = 1024 * 1024;

/** A stream without a record stays for this time after the end of its job. */
export const TAIL_MS = 60_000;

/** Chunks to append. */
export interface NewChunks {
  /** The attempt that writes them, from 1. */
  readonly attempt: number;
  /** How many chunks this lease has written or dropped before these. Those that are stored already are skipped. */
  readonly from: number;
  /** JSON texts; at least one. */
  readonly chunks: readonly string[];
}

/** Consecutive chunks of one run. */
export interface StreamPart {
  /** The number of the last one. */
  readonly last: number;
  /** The number of the run: it rises when the job runs again. */
  readonly run: number;
  /** The attempt, from 1. A job that was interrupted runs again in the same attempt. */
  readonly attempt: number;
  /** JSON text: a list. */
  readonly body: string;
}

/** A page of a stream. */
export interface StreamPage {
  /** The parts that have chunks after the requested one. Those of the first part may begin before it. */
  readonly parts: readonly StreamPart[];
  /** The number of the last chunk of the whole stream. */
  readonly last: number;
  /** Whether the job has ended. */
  readonly ended: boolean;
}

/** Stores streams. */
export interface StreamStore {
  /**
   * Appends chunks to the stream of a job. The same chunks again change nothing.
   *
   * @returns false if the worker has lost the lease, and nothing was written
   */
  append(lease: StepLease, chunks: NewChunks): Promise<boolean>;

  /** Returns the chunks after a number, up to 256 KiB but at least one part; undefined if the job has no stream. */
  read(jid: string, after: number): Promise<StreamPage | undefined>;
}

/** A page has no more bytes than this, but at least one part. */
export const MAX_PAGE_CHARACTERS = 256 * 1024;

/** Returns the chunks that aren't stored yet, and how many numbers they are after those that are; undefined if all are. */
export function newChunks(
  { from, chunks }: NewChunks,
  stored: number,
): { readonly skipped: number; readonly chunks: readonly string[] } | undefined {
  const known = Math.max(0, stored - from);
  return known >= chunks.length ? undefined : { skipped: Math.max(0, from - stored), chunks: chunks.slice(known) };
}
