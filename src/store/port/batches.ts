/**
 * The batches part of the store port: counters of jobs that belong together, and the jobs to push when they have ended.
 *
 *  1. `pending` is at every moment the number of members in the store that aren't dead. It changes only in the step that
 *     stores or ends a member.
 *  2. A callback is pushed once, in the step that fulfils its condition, under a jid that was chosen with the batch.
 *  3. A closed batch whose members have all left the store is finished, and is removed after its retention.
 *
 * @module
 */
import type { BatchEvent, Counted, MemberEnd, MemberLease } from "../../job/batch.ts";
import type { OnceKey } from "./jobs.ts";
import type { StepLease } from "./steps.ts";

/** A job to push for an event. */
export interface BatchCallback {
  /** The ID of the job. */
  readonly jid: string;
  /** Its class. */
  readonly class: string;
  /** Its queue. */
  readonly queue: string;
  /** Its group in the queue. */
  readonly group?: string;
  /** Without `enqueued_at`. */
  readonly payload: string;
}

/** A batch to open. */
export interface NewBatch {
  /** Sorts by age: a jid. */
  readonly id: string;
  /** A name to show. */
  readonly name?: string;
  /** Words shown with the batch. */
  readonly tags?: readonly string[];
  /** The webhooks that it notifies when it is complete, besides those that are subscribed to that. */
  readonly notify?: readonly string[];
  /** The batch that counts this one as a member. */
  readonly parent?: BatchMember;
  /** The jobs that it pushes, by event. */
  readonly callbacks: Readonly<Partial<Record<BatchEvent, BatchCallback>>>;
  /** An open batch without new members for this long is abandoned. */
  readonly closeWithinMs: number;
  /** A finished batch is kept for this long. */
  readonly keepMs: number;
  /** It is a flow: see `flows.ts`. */
  readonly flow?: true;
  /** Batches with the same key are opened once, unless the first one was abandoned. */
  readonly once?: OnceKey;
}

/** The batch that was opened with the same {@linkcode OnceKey}. */
export interface FirstBatch {
  /** Its ID. Its record may have been removed. */
  readonly first: string;
  /** It has another fingerprint. */
  readonly differs?: true;
}

/** The batch of a new job. */
export interface BatchMember {
  /** The ID of the batch. */
  readonly id: string;
  /** The running member that adds it. Only running members add to a closed batch. */
  readonly by?: MemberLease;
}

/** Why a batch accepts no member. */
export type BatchRefusal = "missing" | "closed" | "cancelled" | "abandoned";

/** How a member of a batch ends. */
export interface MemberChange {
  /** The ID of the batch. */
  readonly id: string;
  /** The state in which the batch counts it until now. */
  readonly from: Counted;
  /** Its new state. */
  readonly to: Counted | MemberEnd;
  /** The node that the member is, if the batch is a flow. */
  readonly node?: string;
  /** The result of a node, as JSON. */
  readonly result?: string;
}

/**
 * - `open`: more members may come from outside.
 * - `running`: closed; some members are pending.
 * - `stuck`: closed, some are dead, and no other is pending, except for nodes that wait: retry the dead, or delete them.
 * - `succeeded`: every member has succeeded.
 * - `failed`: finished, but not every member has succeeded.
 * - `cancelled`, `abandoned`: closed that way. Members may still be running.
 */
export type BatchState = "open" | "running" | "stuck" | "succeeded" | "failed" | "cancelled" | "abandoned";

/** A batch. Times are epoch milliseconds. */
export interface Batch {
  /** The ID of the batch. */
  readonly id: string;
  /** A name to show. */
  readonly name?: string;
  /** Words shown with the batch. */
  readonly tags: readonly string[];
  /** The webhooks that it notifies. */
  readonly notify?: readonly string[];
  /** The batch that counts it as a member. */
  readonly parent?: string;
  /** It is a flow: a batch whose members run after each other. */
  readonly flow?: true;
  /** See {@linkcode BatchState}. */
  readonly state: BatchState;
  /** When it was created. */
  readonly createdAt: number;
  /** When it was closed. */
  readonly closedAt?: number;
  /** When a closed batch first had no pending members. */
  readonly completedAt?: number;
  /** Number of members it has had. */
  readonly total: number;
  /** Members that have not ended and aren't dead. */
  readonly pending: number;
  /** Of the pending members of a flow: nodes that wait for others. */
  readonly waiting?: number;
  /** Members in the dead set. */
  readonly dead: number;
  /** Members that have succeeded. */
  readonly succeeded: number;
  /** Members that have failed, and left the store. */
  readonly failed: number;
  /** Members that were cancelled. */
  readonly cancelled: number;
  /** Members that expired. */
  readonly expired: number;
  /** Members that were deleted. */
  readonly deleted: number;
  /** The jobs that it pushes, by event. */
  readonly callbacks: readonly {
    readonly event: BatchEvent;
    readonly jid: string;
    readonly class: string;
    readonly pushedAt?: number;
  }[];
  /** Open: when it is abandoned without new members. Finished: when it is removed. */
  readonly dueAt?: number;
  /** Increases with every change of a counter. */
  readonly version: number;
}

/** A page of batches, the latest first. */
export interface BatchPage {
  /** The batches. */
  readonly batches: readonly Batch[];
  /** Pass it to get the next page; absent on the last. */
  readonly next?: string;
}

/** Which page of batches to read. */
export interface BatchPageRequest {
  /** The `next` of the page before. */
  readonly cursor?: string;
  /** Maximum number of batches. */
  readonly limit?: number;
  /** `true`: flows only. Default: batches that aren't flows. */
  readonly flows?: boolean;
}

/** The result of closing; undefined for an unknown batch. */
export type CloseResult = {
  /** Whether this call closed the batch. */
  readonly done: boolean;
  /** How it is closed now. */
  readonly closedAs: ClosedAs;
  /** The nodes of a flow that this call cancelled, because they waited. Absent if there are none. */
  readonly waiting?: number;
} | undefined;

/** How a batch was closed. */
export type ClosedAs = "closed" | "cancelled" | "abandoned";

/** The result of a step of `tend`. */
export interface Tended {
  /** Number of abandoned batches. */
  readonly abandoned: number;
  /** Number of removed batches. */
  readonly removed: number;
  /** More is due. */
  readonly more: boolean;
}

/** A batch, and its members that are in the store, at one moment. */
export interface MemberCount {
  /** The batch, with its counters. */
  readonly batch: Batch;
  /** Jobs, nested batches and waiting nodes that are pending. */
  readonly pending: number;
  /** Jobs and nested batches that are dead. */
  readonly dead: number;
}

/** Stores batches. Members arrive by `jobs.enqueue`, and leave by every verb that ends a job. */
export interface BatchStore {
  /**
   * Opens a batch. Opening the same batch again changes nothing.
   *
   * @returns why its parent doesn't accept it, or the batch that was opened with its once key; then nothing is stored
   */
  create(batch: NewBatch): Promise<BatchRefusal | FirstBatch | undefined>;

  /**
   * Returns those of the batches and flows that exist, or a page of the batches, or of the flows, latest first; at most `limit`,
   * default 25.
   */
  read(request?: { readonly ids: readonly string[] } | BatchPageRequest): Promise<BatchPage>;

  /** Closes a batch: it accepts no more members from outside, and its callbacks follow when its members have ended. */
  close(id: string, as: ClosedAs): Promise<CloseResult>;

  /**
   * Counts a member that another producer pushed without counting it, under its lease, and marks its payload.
   *
   * @returns the new payload; undefined if the lease is lost, or the batch accepts no members
   */
  admit(lease: StepLease, id: string): Promise<string | undefined>;

  /**
   * Counts the members of a batch that are in the store, by their marks.
   *
   * @returns undefined for an unknown batch; `large` if the store has no index of members, and too many jobs to read in one step
   */
  count(id: string): Promise<MemberCount | "large" | undefined>;

  /** Corrects the counters of members that are in the store, if the batch has not changed since `version`. */
  correct(
    id: string,
    found: { readonly pending: number; readonly dead: number; readonly version: number },
  ): Promise<boolean>;

  /**
   * Continues what is due: pushes or cancels nodes of flows after those that have ended, abandons open batches after
   * `closeWithinMs`, and removes finished ones after `keepMs`; at most `limit` nodes, and as many batches.
   *
   * @param only without the batches, for a program that continues a flow
   */
  tend(limit: number, only?: "nodes"): Promise<Tended>;
}

/** One step continues this many nodes, and as many batches, at most. */
export const TEND_LIMIT = 100;
