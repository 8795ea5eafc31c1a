/**
 * The results part of the store port: records of ended jobs, with their end and their result.
 *
 * A record is written in the step that ends the lease, and is kept for its TTL. Beyond {@linkcode MAX_RECORDS}, the oldest are
 * deleted first.
 *
 * @module
 */

/** Maximum number of records. */
export const MAX_RECORDS = 100_000;

/** A record to keep. */
export interface NewRecord {
  /** The job. */
  readonly jid: string;
  /** TTL in milliseconds; Infinity: until newer records displace it. */
  readonly ttlMs: number;
  /** A JSON object's text. The store doesn't parse it. */
  readonly body: string;
}

/** One page of records, the latest first. */
export interface RecordPage {
  /** Their texts. */
  readonly records: readonly string[];
  /** Pass it to get the next page; absent on the last. */
  readonly next?: string;
}

/** Stores the records of ended jobs. `settle` writes most of them, in the step that ends the lease. */
export interface ResultStore {
  /** Returns the record of a job; undefined if none is kept. */
  get(jid: string): Promise<string | undefined>;

  /** Returns a page of the records, latest first; at most `limit`, default 25. */
  page(request?: { readonly cursor?: string; readonly limit?: number }): Promise<RecordPage>;

  /** Returns records that contain the text (ignoring case), latest first; at most `limit`. */
  search(text: string, limit: number): Promise<string[]>;

  /**
   * Keeps the record of a job that ended without a lease: it was cancelled while it waited. With the ref of its entry, deletes
   * the entry in the same step, with its unique lock, and wakes the waiters for the result.
   *
   * @returns false if the entry no longer exists; then nothing is kept
   */
  keep(record: NewRecord, ref?: string): Promise<boolean>;
}
