/**
 * A finding of `jobs doctor`.
 *
 * @module
 */

/** The result of one check. */
export interface Finding {
  /** `settings`, `handlers`, `cron`, `files`, `store`, `clock`, `workers`, `queues`, `jobs` or `batches`. */
  readonly check: string;
  readonly state: "ok" | "warning" | "failed";
  readonly message: string;
  /** The remedy, if there is one. */
  readonly cure?: string;
}
