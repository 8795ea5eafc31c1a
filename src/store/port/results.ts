/**
 * The results part of the store port: records of ended jobs, with their end and their result.
 *
 * A record is written in the step that ends the job, and is kept for its TTL. Beyond {@linkcode MAX_RECORDS}, the oldest are
 * deleted first.
 *
 * @module
 */
import type { SearchWatch } from "./entries.ts";

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

/**
 * Which records to read.
 *
 * - `jids`: of these jobs, in their order; none for a job without a record.
 * - `text`: the latest that contain it, ignoring case. All records may be read, in steps: on Redis a round trip for every 1,000.
 * - Otherwise a page, the latest first. `limit` is 25 by default.
 */
export type RecordRequest =
  | { readonly jids: readonly string[] }
  | SearchWatch & { readonly text: string; readonly limit: number }
  | { readonly cursor?: string; readonly limit?: number };

/** Reads the records of ended jobs. `JobStore.settle` writes them, and `JobStore.edit` that of a cancelled job. */
export interface ResultStore {
  /** Returns records: those of jobs, a page, or those that contain a text. */
  read(request?: RecordRequest): Promise<RecordPage>;
}
