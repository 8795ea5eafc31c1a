/**
 * The record of a batch, as both adapters store and migrate it.
 *
 * @module
 */
import { BATCH_EVENTS, type BatchEvent, MEMBER_STATES } from "../../job/batch.ts";
import type { Batch, BatchCallback, BatchState, ClosedAs } from "../port/batches.ts";
import { type Check, is, number, oneOf, optional, text } from "./row_checks.ts";

/** A counter of a batch. */
export type Counter = typeof MEMBER_STATES[number];

/** The fields of a batch that are stored as JSON. */
export interface BatchSpec {
  readonly name?: string;
  readonly tags?: readonly string[];
  readonly notify?: readonly string[];
  readonly callbacks: Readonly<Partial<Record<BatchEvent, BatchCallback>>>;
}

/** A row of `batch`. */
export type BatchRow =
  & { readonly [Name in Counter | "total" | "version" | "created" | "close_within" | "keep"]: number }
  & { readonly [Name in `${BatchEvent}_at` | "closed" | "due" | "flow" | "waiting"]: number | null }
  & {
    readonly id: string;
    readonly spec: string;
    readonly parent: string | null;
    readonly counted: Counter | null;
    readonly closed_as: ClosedAs | null;
  };

/** Returns the batch of a row. Any program may have changed it: the name of an unreadable one is `(unreadable)`. */
export function batchOf(row: BatchRow): Batch {
  const { name, tags = [], notify, callbacks } = readSpec(row.spec);
  const { id, total, pending, dead, succeeded, failed, cancelled, expired, deleted, version } = row;
  return {
    id,
    ...(name !== undefined && { name }),
    tags,
    ...(notify !== undefined && { notify }),
    ...(row.parent !== null && { parent: row.parent }),
    ...(row.flow !== null && { flow: true as const }),
    state: stateOf(row),
    createdAt: row.created,
    ...(row.closed !== null && { closedAt: row.closed }),
    ...(row.complete_at !== null && { completedAt: row.complete_at }),
    ...{ total, pending, dead, succeeded, failed, cancelled, expired, deleted },
    ...(row.flow !== null && { waiting: row.waiting ?? 0 }),
    callbacks: BATCH_EVENTS.flatMap((event) => {
      const callback = callbacks[event];
      if (callback === undefined) return [];
      // An abandoned batch notes when its members had ended, and pushes nothing for that.
      const isPushed = event !== "complete" || row.closed_as !== "abandoned";
      const pushedAt = isPushed ? row[`${event}_at`] : null;
      return [{ event, jid: callback.jid, class: callback.class, ...(pushedAt !== null && { pushedAt }) }];
    }),
    ...(row.due !== null && { dueAt: row.due }),
    version,
  };
}

function readSpec(text: string): BatchSpec {
  try {
    const { name, tags, notify, callbacks } = JSON.parse(text) as BatchSpec;
    return {
      ...(typeof name === "string" && { name }),
      ...(Array.isArray(tags) && { tags: tags.filter((tag) => typeof tag === "string") }),
      ...(Array.isArray(notify) && { notify: notify.filter((one) => typeof one === "string") }),
      callbacks: Object.fromEntries(
        Object.entries(callbacks).filter(([, one]) => typeof one?.jid === "string" && typeof one.class === "string"),
      ),
    };
  } catch {
    return { name: "(unreadable)", callbacks: {} };
  }
}

function stateOf({ closed_as: closedAs, pending, waiting, dead, succeeded, total }: BatchRow): BatchState {
  if (closedAs === null) return "open";
  if (closedAs !== "closed") return closedAs;
  if (pending > (dead > 0 ? waiting ?? 0 : 0)) return "running";
  return dead > 0 ? "stuck" : succeeded === total ? "succeeded" : "failed";
}

const SPEC = is("the JSON of a batch", (value) => {
  try {
    const { callbacks } = JSON.parse(value as string) as BatchSpec;
    return Object.values(callbacks).every(({ queue, payload }) =>
      typeof queue === "string" && typeof payload === "string"
    );
  } catch {
    return false;
  }
});

/** The columns of a batch, whose names become part of SQL. */
export const BATCH_COLUMNS: Readonly<Record<keyof BatchRow, Check>> = {
  ...{ id: text, spec: SPEC, parent: optional(text), counted: optional(oneOf(...MEMBER_STATES)), version: number },
  ...{ created: number, close_within: number, keep: number, due: optional(number) },
  ...{ closed: optional(number), closed_as: optional(oneOf("closed", "cancelled", "abandoned")) },
  ...{ success_at: optional(number), complete_at: optional(number) },
  ...{ death_at: optional(number), abandoned_at: optional(number) },
  ...{ flow: optional(number), waiting: optional(number), total: number, pending: number, dead: number },
  ...{ succeeded: number, failed: number, cancelled: number, expired: number, deleted: number },
};
