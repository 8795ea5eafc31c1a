/**
 * The record of a batch, as both adapters store and migrate it.
 *
 * @module
 */
import { BATCH_EVENTS, type BatchEvent, type MEMBER_STATES } from "../../job/batch.ts";
import type { Batch, BatchCallback, BatchState, ClosedAs } from "../port/batches.ts";

/** A counter of a batch. */
export type Counter = typeof MEMBER_STATES[number];

/** The fields of a batch that are stored as JSON. */
export interface BatchSpec {
  readonly name?: string;
  readonly tags?: readonly string[];
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
  const { name, tags = [], callbacks } = readSpec(row.spec);
  const { id, total, pending, dead, succeeded, failed, cancelled, expired, deleted, version } = row;
  return {
    id,
    ...(name !== undefined && { name }),
    tags,
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
    const { name, tags, callbacks } = JSON.parse(text) as BatchSpec;
    return {
      ...(typeof name === "string" && { name }),
      ...(Array.isArray(tags) && { tags: tags.filter((tag) => typeof tag === "string") }),
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

/** The fields that an imported batch may set. Their names become part of SQL. */
export const COLUMNS: ReadonlySet<string> = new Set([
  ...["id", "spec", "parent", "counted", "created", "close_within", "keep", "closed", "closed_as"],
  ...["success_at", "complete_at", "death_at", "abandoned_at", "due", "version"],
  ...["flow", "waiting"],
  ...["total", "pending", "dead", "succeeded", "failed", "cancelled", "expired", "deleted"],
]);
