/**
 * A finding of `jobs doctor`.
 *
 * @module
 */

/** The result of one check. */
export interface Finding {
  /** `settings`, `handlers`, `cron`, `files`, `store`, `clock`, `workers`, `queues` or `jobs`. */
  readonly check: string;
  readonly state: "ok" | "warning" | "failed";
  readonly message: string;
  /** What to do about it, if anything. */
  readonly cure?: string;
}
