/**
 * The notice and the event of a batch that is complete, or of a flow that has ended. The script of Redis makes the same
 * (`lua/webhooks.lua`).
 *
 * @module
 */
import { membersOf } from "../../job/event.ts";
import { type Notice, notifiedBy, type Subject } from "../../job/webhook.ts";
import { batchOf, type BatchRow } from "./batch_record.ts";

/** Returns the members of the event of a batch. */
export function batchMembers(row: BatchRow): string {
  const { id, name, tags, flow, state } = batchOf(row);
  const type = flow ? "flow.ended" : "batch.complete";
  return membersOf({
    ...{ type, batch: id, ...(name !== undefined && { name }), ...(tags.length > 0 && { tags }), state },
  });
}

/** Returns the notice of a batch, and what it is about. */
export function batchNotice(row: BatchRow, at: number): readonly [Notice, Subject] {
  const { id, name, tags, flow, state, total, succeeded, failed, dead, cancelled, expired, deleted, notify } = batchOf(
    row,
  );
  const counts = { total, succeeded, failed, dead, cancelled, expired, deleted };
  const data = { id, ...(name !== undefined && { name }), ...(tags.length > 0 && { tags }), state, ...counts };
  return [
    { id: `${id}-complete`, type: flow ? "flow.ended" : "batch.complete", at, data },
    { notify: notifiedBy(notify) },
  ];
}
