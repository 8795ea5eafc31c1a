/**
 * Batches: jobs that are counted together, and the fields of their payloads.
 *
 * A member's payload names its batch ({@linkcode BATCH_FIELD}) and how the batch counts it now
 * ({@linkcode COUNTED_FIELD}). The counters of a batch follow these marks: a step that changes a mark, or removes a member,
 * also changes the counters. A batch therefore needs no list of its members, and no end counts twice.
 *
 * @module
 */
import { NODE_FIELD, nodeOf } from "./flow.ts";
import { getField, setFields } from "./raw.ts";

/** The field with the ID of the batch. Not `bid`, which Sidekiq Pro's middleware acts on. */
export const BATCH_FIELD = "batch";

/** The field with the counter that counts the job. Absent if another producer pushed it, and no counter counts it yet. */
export const COUNTED_FIELD = "batch_counted";

/** The option with the {@linkcode MemberLease} of the member that adds the job. It is not part of the payload. */
export const ADDED_BY_FIELD = "batch_by";

/** The lease of a running member. A closed batch accepts only jobs that its running members add. */
export interface MemberLease {
  /** The ID of the worker that runs it. */
  readonly worker: string;
  /** The token of the lease. */
  readonly token: string;
}

/** The counter of a member that is in the store. */
export type Counted = "pending" | "dead";

/** The counter of a member that has left the store. `failed`: it was discarded. `deleted`: by an operator, or because the dead set was full. */
export type MemberEnd = "succeeded" | "failed" | "cancelled" | "expired" | "deleted";

/** The counters of a batch. `total` is the sum of the others. */
export const MEMBER_STATES = ["pending", "dead", "succeeded", "failed", "cancelled", "expired", "deleted"] as const;

/** The events that a batch pushes a job for, each at most once. */
export const BATCH_EVENTS: readonly BatchEvent[] = ["success", "complete", "death", "abandoned"];

/** An event of a batch. */
export type BatchEvent = "success" | "complete" | "death" | "abandoned";

export interface Membership {
  readonly id: string;
  /** Undefined if no counter counts it yet. */
  readonly counted: Counted | undefined;
  /** The job's node, if the batch is a flow. */
  readonly node?: string;
}

/** Returns the batch of a parsed payload; undefined if it has none. */
export function membershipOf(payload: { readonly [field: string]: unknown }): Membership | undefined {
  const { [BATCH_FIELD]: id, [COUNTED_FIELD]: counted } = payload;
  if (typeof id !== "string" || id === "") return undefined;
  const node = nodeOf(payload);
  return {
    id,
    counted: counted === "pending" || counted === "dead" ? counted : undefined,
    ...(node !== undefined && { node }),
  };
}

/** Returns the ID of the batch that a payload names, whether or not that counts its job; undefined if it names none. Parses only payloads that may name one. */
export function batchIn(payload: string): string | undefined {
  if (!payload.includes(`"${BATCH_FIELD}"`)) return undefined;
  return membershipOf({ [BATCH_FIELD]: getField(payload, BATCH_FIELD) })?.id;
}

/** Returns the batch that counts a job now; undefined if none does. Parses only payloads that have the mark. */
export function countedIn(payload: string): Membership & { readonly counted: Counted } | undefined {
  if (!payload.includes(`"${COUNTED_FIELD}"`)) return undefined;
  const found = membershipOf({
    [BATCH_FIELD]: getField(payload, BATCH_FIELD),
    [COUNTED_FIELD]: getField(payload, COUNTED_FIELD),
    [NODE_FIELD]: payload.includes(`"${NODE_FIELD}"`) ? getField(payload, NODE_FIELD) : undefined,
  });
  return found?.counted === undefined ? undefined : { ...found, counted: found.counted };
}

/** Returns the payload with another mark. */
export function countedAs(payload: string, counted: Counted): string {
  return setFields(payload, { [COUNTED_FIELD]: JSON.stringify(counted) });
}
