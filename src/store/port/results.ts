/**
 * What is kept of jobs that have ended: how, when, with what result. A part of both ports.
 *
 * A record is written in the same step that ends the lease, and is kept for its own time, but never are there more than
 * {@linkcode MAX_RECORDS}: then the oldest go.
 *
 * @module
 */

/** So many records are kept at most. */
export const MAX_RECORDS = 100_000;

/** A record on its way in. */
export interface NewRecord {
  /** The job. */
  readonly jid: string;
  /** How long it is kept, in milliseconds; Infinity for as long as there is room. */
  readonly ttlMs: number;
  /** A JSON object's text; the store does not look into it. */
  readonly body: string;
}

/** One page of records, the latest first. */
export interface RecordPage {
  /** Their texts. */
  readonly records: readonly string[];
  /** Pass it to get the next page; absent on the last. */
  readonly next?: string;
}

/** The side of those who wait for jobs. */
export interface ResultWaiter {
  /** Resolves with the record of a job as soon as there is one; undefined when `signal` aborts first. */
  waitForResult(jid: string, signal: AbortSignal): Promise<string | undefined>;
}

/** The side of people. */
export interface ResultReader {
  /** The record of a job, if there is one. */
  result(jid: string): Promise<string | undefined>;
  /** The records, the latest first. */
  results(request?: { readonly cursor?: string; readonly limit?: number }): Promise<RecordPage>;
  /** Records that contain the text (case counts not), the latest first; at most `limit`. */
  searchResults(text: string, limit: number): Promise<string[]>;
  /**
   * Keeps the record of a job that ended without a lease: one that was cancelled while it waited. With the ref of the entry
   * where it waits, that is deleted in the same step, with its unique lock: whoever waits for the result is told.
   *
   * @returns false when the entry is there no longer; then nothing is kept
   */
  keepResult(record: NewRecord, ref?: string): Promise<boolean>;
}
