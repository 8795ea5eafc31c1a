/**
 * Batches: jobs that are counted together, and what their payloads say about it.
 *
 * A member's payload names its batch ({@linkcode BATCH_FIELD}) and how the batch counts it now
 * ({@linkcode COUNTED_FIELD}). The counters of a batch follow these marks: whoever changes a mark, or removes a member,
 * changes the counters in the same step. A batch therefore keeps no list of its members, and no end counts twice.
 *
 * @module
 */
import { getField, setFields } from "./raw.ts";

/** The payload's field with the ID of its batch. Not `bid`: Sidekiq Pro's middleware would act on it. */
export const BATCH_FIELD = "batch";

/** The payload's field that says how the batch counts it. Absent: a producer that isn't ours pushed it, not counted yet. */
export const COUNTED_FIELD = "batch_counted";

/** The payload's field with the jid of the member that added it: a closed batch accepts only members added by members. */
export const ADDED_BY_FIELD = "batch_by";

/** How a batch counts a member that is somewhere in the store. */
export type Counted = "pending" | "dead";

/** How a batch counts a member that has left the store. `failed`: it was discarded. `deleted`: an operator did it, or `dead` was full. */
export type MemberEnd = "succeeded" | "failed" | "cancelled" | "expired" | "deleted";

/** The counters of a batch. `total` is the sum of the others. */
export const MEMBER_STATES = ["pending", "dead", "succeeded", "failed", "cancelled", "expired", "deleted"] as const;

/** The events that a batch pushes a job for, each at most once. */
export const BATCH_EVENTS: readonly BatchEvent[] = ["success", "complete", "death", "abandoned"];

/** An event of a batch. */
export type BatchEvent = "success" | "complete" | "death" | "abandoned";

/** A batch that a payload belongs to. */
export interface Membership {
  readonly id: string;
  /** Undefined: not counted yet. */
  readonly counted: Counted | undefined;
}

/** Returns the batch of a parsed payload; undefined if it has none. */
export function membershipOf(payload: { readonly [field: string]: unknown }): Membership | undefined {
  const { [BATCH_FIELD]: id, [COUNTED_FIELD]: counted } = payload;
  if (typeof id !== "string" || id === "") return undefined;
  return { id, counted: counted === "pending" || counted === "dead" ? counted : undefined };
}

/** Returns the batch that counts a payload's job now. Reads only payloads that have the mark. */
export function countedIn(payload: string): Required<Membership> & { readonly counted: Counted } | undefined {
  if (!payload.includes(`"${COUNTED_FIELD}"`)) return undefined;
  const found = membershipOf({
    [BATCH_FIELD]: getField(payload, BATCH_FIELD),
    [COUNTED_FIELD]: getField(payload, COUNTED_FIELD),
  });
  return found?.counted === undefined ? undefined : { id: found.id, counted: found.counted };
}

/** Returns the payload with another mark. */
export function countedAs(payload: string, counted: Counted): string {
  return setFields(payload, { [COUNTED_FIELD]: JSON.stringify(counted) });
}
