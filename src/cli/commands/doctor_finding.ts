/**
 * What `jobs doctor` finds.
 *
 * @module
 */

/** One thing that was looked at. */
export interface Finding {
  /** What was looked at: `settings`, `handlers`, `cron`, `files`, `store`, `clock`, `processes`, `queues`, `jobs`. */
  readonly check: string;
  readonly state: "ok" | "warning" | "failed";
  /** What was found. */
  readonly message: string;
  /** What to do about it; absent where nothing has to be done. */
  readonly cure?: string;
}
