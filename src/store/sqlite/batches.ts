/**
 * The batches part of the port.
 *
 * @module
 */
import { COUNTED_FIELD, membershipOf } from "../../job/batch.ts";
import { getField, setFields } from "../../job/raw.ts";
import type {
  BatchPage,
  BatchPageRequest,
  BatchRefusal,
  BatchStore,
  BatchSweep,
  ClosedAs,
  CloseResult,
  FirstBatch,
  NewBatch,
} from "../port/batches.ts";
import { SPREAD_LIMIT } from "../port/flows.ts";
import type { StepLease } from "../port/steps.ts";
import { batchOf, type BatchRow } from "../ops/batch_record.ts";
import { count } from "./batch_members.ts";
import { BatchChanges } from "./batch_rows.ts";
import type { Context } from "./context.ts";
import * as counters from "./batch_rows.ts";
import * as flowRows from "./flow_rows.ts";
import * as jobRows from "./job_rows.ts";
import * as keys from "./push_keys.ts";

/** A step removes this many nodes of a flow at most. */
export const MAX_REMOVED_NODES = 1_000;

/** Returns the part. */
export function batchesPart(context: Context): BatchStore {
  return {
    create(batch: NewBatch): Promise<BatchRefusal | FirstBatch | undefined> {
      const { id, parent, closeWithinMs, keepMs, flow, once, ...spec } = batch;
      return context.commit.run(() => {
        if (counters.row(context, id) !== undefined) return undefined;
        const now = context.now();
        const first = once && keys.firstWith(context, once, now);
        // Nothing of an abandoned flow has run.
        const isAbandoned = first && counters.row(context, first.first)?.closed_as === "abandoned";
        if (first && !isAbandoned) return first;
        const refusal = parent && counters.refusal(context, parent);
        if (refusal !== undefined) return refusal;
        if (once) {
          if (isAbandoned) keys.forgetOnce(context, [once.key]);
          keys.rememberOnce(context, once, id, now);
          keys.sweepOnce(context, 1, now);
        }
        context.sql(
          `INSERT INTO batch (id, spec, parent, counted, created, close_within, keep, due, flow)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        ).run(
          id,
          JSON.stringify(spec),
          parent?.id ?? null,
          parent === undefined ? null : "pending",
          now,
          Math.round(closeWithinMs),
          Math.round(keepMs),
          Math.round(now + closeWithinMs),
          flow ? 1 : null,
        );
        if (parent !== undefined) change(context, (changes) => changes.note(parent.id, undefined, "pending"), now);
        return undefined;
      });
    },

    read(request: { readonly ids: readonly string[] } | BatchPageRequest = {}): Promise<BatchPage> {
      return context.read(() => {
        if ("ids" in request) {
          const rows = request.ids.map((id) => counters.row(context, id)).filter((row) => row !== undefined);
          return { batches: rows.map(batchOf) };
        }
        const { cursor, limit = 25, flows = false } = request;
        const rows = context.sql(
          "SELECT * FROM batch WHERE flow IS ?3 AND (?1 IS NULL OR id < ?1) ORDER BY id DESC LIMIT ?2",
        ).all(cursor ?? null, limit + 1, flows ? 1 : null) as unknown as BatchRow[];
        const batches = rows.slice(0, limit).map(batchOf);
        return { batches, ...(rows.length > limit && { next: batches.at(-1)!.id }) };
      });
    },

    close(id: string, as: ClosedAs): Promise<CloseResult> {
      return context.commit.run(() => closeBatch(context, id, as, context.now()));
    },

    admit(lease: StepLease, id: string): Promise<string | undefined> {
      return context.commit.run(() => {
        const payload = counters.leasedPayload(context, lease);
        if (payload === undefined) return undefined;
        const counted = membershipOf({ batch: id, [COUNTED_FIELD]: getField(payload, COUNTED_FIELD) })?.counted;
        if (counted !== undefined) return payload;
        // The batch may be closed: the job was perhaps pushed before. It counts if the batch has not ended.
        if (counters.refusal(context, { id }, true) !== undefined) return undefined;
        const marked = setFields(payload, { [COUNTED_FIELD]: `"pending"` });
        jobRows.rewrite(context, Number.parseInt(lease.token), marked);
        change(context, (changes) => changes.note(id, undefined, "pending"), context.now());
        return marked;
      });
    },

    count: (id: string) => context.read(() => count(context, id)),

    correct(
      id: string,
      { pending, dead, version }: { readonly pending: number; readonly dead: number; readonly version: number },
    ): Promise<boolean> {
      return context.commit.run(() => {
        const { changes } = context.sql(
          `UPDATE batch SET pending = ?1, dead = ?2, total = total - pending - dead + ?1 + ?2, version = version + 1
           WHERE id = ?3 AND version = ?4`,
        ).run(pending, dead, id, version);
        if (changes === 1) new BatchChanges(context).advance(id, context.now());
        return changes === 1;
      });
    },

    async sweep(limit: number): Promise<BatchSweep> {
      const { sql, read } = context;
      // A transaction costs a write to the disk, and usually no batch is due.
      const next = await read(() => sql("SELECT min(due) AS due FROM batch WHERE due IS NOT NULL").get()!.due);
      if (next === null || Number(next) > context.now()) return { abandoned: 0, removed: 0, more: false };
      return await context.commit.run(() => {
        const now = context.now();
        const due = sql("SELECT id, closed, flow FROM batch WHERE due <= ? ORDER BY due LIMIT ?").all(now, limit + 1);
        let abandoned = 0;
        let removed = 0;
        for (const { id, closed, flow } of due.slice(0, limit)) {
          if (closed === null) {
            closeBatch(context, id as string, "abandoned", now);
            abandoned++;
          } else if (flow !== null && flowRows.remove(context, id as string, MAX_REMOVED_NODES)) {
            return { abandoned, removed, more: true };
          } else {
            sql("DELETE FROM batch WHERE id = ?").run(id as string);
            removed++;
          }
        }
        return { abandoned, removed, more: due.length > limit };
      });
    },
  };
}

function change(context: Context, note: (changes: BatchChanges) => void, now: number): void {
  const changes = new BatchChanges(context);
  note(changes);
  changes.apply(now);
}

function closeBatch(context: Context, id: string, as: ClosedAs, now: number): CloseResult {
  const row = counters.row(context, id);
  if (row === undefined) return undefined;
  // A closed batch that has not ended can still be cancelled.
  const canClose = row.closed_as === null || (as === "cancelled" && row.closed_as === "closed" && row.due === null);
  if (!canClose) return { done: false, closedAs: row.closed_as! };
  context.sql("UPDATE batch SET closed = coalesce(closed, ?), closed_as = ?, due = NULL WHERE id = ?")
    .run(now, as, id);
  const changes = new BatchChanges(context);
  changes.advance(id, now);
  if (row.flow !== null) {
    if (as === "closed") flowRows.start(context, id);
    else flowRows.cancel(context, id);
    changes.spread(SPREAD_LIMIT, now);
  }
  const waiting = as === "closed" ? 0 : row.waiting ?? 0;
  return { done: true, closedAs: as, ...(waiting > 0 && { waiting }) };
}
