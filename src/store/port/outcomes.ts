/**
 * The ends of leases, and their results.
 *
 * @module
 */
import type { MemberChange } from "./batches.ts";
import type { NewJob } from "./jobs.ts";
import type { NewRecord } from "./results.ts";

/**
 * How a lease ends. Settling applies it and drops the lease in one step.
 *
 * - `ack`: done; the job leaves the store.
 * - `discard`: failed, and leaves the store.
 * - `retry`: failed, runs again at `at`; `payload` is what to keep, without `enqueued_at`.
 * - `snooze`: not failed, runs again at `at` (set `scheduled`).
 * - `bury`: failed permanently, to `dead`; `payload` is what to keep.
 * - `aside`: not run, because the worker lacks its `class`: the job waits in its queue for a worker that has the class, in the order in
 *   which the jobs of this class were enqueued. It doesn't count as a start of a limit. Where workers of another program also take from
 *   the queue (Sidekiq's, on Redis), which don't report their classes, it runs again like a `snooze`, with `delayMs` and `payload`.
 * - `release`: not run or not finished: back to the front of its queue. Several outcomes of one call, in the order in which the jobs
 *   were taken, keep that order. `begun`: it has started, so `expires_in` no longer applies to it.
 *
 * With `retry`, `snooze`, `aside` and `release`, a cancelled job passes to `CANCELLED_WORKER` instead of running again.
 *
 * `retry`, `snooze` and `aside` give the time as `delayMs` from the store's now. The other fields are optional:
 *
 * - `unlock`: the key of the unique lock to release, if the job `jid` still has it.
 * - `occurrence`: with `ack`, `discard` and `bury`: the job `jid` is no longer the live job of its cron entry.
 * - `record`: with `ack`, `discard` and `bury`: the record to keep.
 * - `steps`: the job `jid` may have steps. `ack` and `discard` delete them. With `snooze`, the job is due at once if one of its
 *   waits ended while it ran.
 * - `parent`: with `ack`, `discard` and `bury`: the step that waits for the end of this job.
 * - `batch`: with `ack`, `discard` and `bury`: the change of a member of a batch.
 * - `follow`: with `ack`, `discard` and `bury`: jobs to store, without conditions and times. They are those of webhooks.
 * - `event`: with `ack`, `discard` and `bury`: JSON members of the event of the end (`src/job/event.ts`). Default: that the job has succeeded,
 *   failed or died.
 */
export type Outcome =
  & { readonly token: string; readonly unlock?: string; readonly jid?: string; readonly occurrence?: string }
  & { readonly steps?: boolean; readonly parent?: ParentStep }
  & { readonly record?: NewRecord; readonly batch?: MemberChange }
  & { readonly follow?: readonly NewJob[]; readonly event?: string }
  & (
    | { readonly kind: "ack" }
    | { readonly kind: "discard" }
    | { readonly kind: "retry"; readonly delayMs: number; readonly payload: string }
    | { readonly kind: "snooze"; readonly delayMs: number; readonly payload: string }
    | { readonly kind: "bury"; readonly payload: string }
    | { readonly kind: "aside"; readonly class: string; readonly delayMs: number; readonly payload: string }
    | { readonly kind: "release"; readonly begun?: boolean }
  );

/** The step of another job that waits for the end of this one, and how that step ends. */
export interface ParentStep {
  /** Its job. */
  readonly jid: string;
  /** Its name. */
  readonly step: string;
  /** The jid of this job. A step that was run again waits for another one. Default: any. */
  readonly child?: string;
  /** How it ends. */
  readonly state: "succeeded" | "failed";
  /** JSON members of its record: `"value":…`, or `"error":…`. */
  readonly outcome: string;
}

/** Options of a settlement. */
export interface SettleOptions {
  /** An outcome isn't waited for whose rows another transaction holds: it is listed in `held`. Default: the call waits, then fails with `held`. */
  readonly skipsHeld?: boolean;
}

/** The result of a settlement. */
export interface SettleResult {
  /** Tokens that are no longer leases of the worker. Their outcomes changed nothing. */
  readonly lost: readonly string[];
  /** Dead jobs dropped because `dead` exceeded its limit of number or age. */
  readonly dropped: number;
  /** Tokens of outcomes that aren't stored, because another transaction holds what they change: settle them later. */
  readonly held?: readonly string[];
  /** The session that holds them, with the command that ends it. */
  readonly heldBy?: string;
}
