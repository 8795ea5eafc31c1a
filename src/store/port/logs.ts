/**
 * The logs part of the store port: lists of texts whose oldest entries are dropped. No job depends on them.
 *
 * @module
 */

/** A log: the actions of users, or the runs of a cron entry, which `cron.write` adds. */
export type LogName = "audit" | `cron:${string}`;

/** An entry of a log. */
export interface LogEntry {
  /** When it was added, by the store's clock. */
  readonly at: number;
  /** Its text. The store doesn't parse it. */
  readonly text: string;
}

/** One page of a log, the latest entry first. */
export interface LogPage {
  /** Its entries. */
  readonly entries: readonly LogEntry[];
  /** Pass it to get the next page; absent on the last. */
  readonly next?: string;
}

/** Stores logs. */
export interface LogStore {
  /** Adds an entry as of now. Two round trips. Of a log, the latest {@linkcode maxEntries} are kept. */
  add(log: LogName, text: string): Promise<void>;

  /** Returns a page of a log, latest first; at most `limit`, from 1 on, default 25. */
  page(log: LogName, request?: { readonly cursor?: string; readonly limit?: number }): Promise<LogPage>;
}

/** Maximum number of entries that are kept of the audit log. */
const MAX_EVENTS = 10_000;
/** Maximum number of records that are kept of each cron entry. */
export const MAX_CRON_RECORDS = 100;
/** Roughly the maximum number of records that are kept of all cron entries together; at least one of each. */
export const MAX_ALL_CRON_RECORDS = 1_000_000;

/** Returns how many records are kept of each cron entry if there are this many entries: 100 of each of up to 10,000. */
export function cronRecordsKept(entries: number): number {
  return Math.max(1, Math.min(MAX_CRON_RECORDS, Math.floor(MAX_ALL_CRON_RECORDS / Math.max(1, entries))));
}

/** Returns the maximum number of entries of a log. */
export function maxEntries(log: LogName): number {
  return log === "audit" ? MAX_EVENTS : MAX_CRON_RECORDS;
}
