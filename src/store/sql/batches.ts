/**
 * The batches part of the port.
 *
 * @module
 */
import { COUNTED_FIELD, countedIn, membershipOf } from "../../job/batch.ts";
import { getField, setFields } from "../../job/raw.ts";
import {
  type BatchPage,
  type BatchPageRequest,
  type BatchRefusal,
  type BatchStore,
  type ClosedAs,
  type CloseResult,
  type FirstBatch,
  type MemberCount,
  type NewBatch,
  TEND_LIMIT,
  type Tended,
} from "../port/batches.ts";
import type { StepLease } from "../port/steps.ts";
import { batchOf, type BatchRow } from "../ops/batch_record.ts";
import { BatchChanges } from "./batch_rows.ts";
import * as counters from "./batch_rows.ts";
import { type Body, type Dialect, type Engine, inOrder, lock, query } from "./body.ts";
import * as flowRows from "./flow_rows.ts";
import * as keys from "./push_keys.ts";
import { holdLease } from "./step_rows.ts";

const NOTHING: Tended = { abandoned: 0, removed: 0, more: false };

/** A step removes this many nodes of a flow at most. */
export const MAX_REMOVED_NODES = 1_000;

/** Returns the part. */
export function batchesPart(engine: Engine): BatchStore {
  const { write, read, readMoment, dialect, storeJobs } = engine;
  return {
    create(batch: NewBatch): Promise<BatchRefusal | FirstBatch | undefined> {
      const { id, parent, closeWithinMs, keepMs, flow, once, ...spec } = batch;
      return write(function* (now): Body<BatchRefusal | FirstBatch | undefined> {
        yield lock(`batch:${id}`);
        if ((yield query("SELECT 1 FROM batch WHERE id = ?1", [id])).length > 0) return undefined;
        if (once) yield lock(`once:${once.key}`);
        const first = once && (yield* keys.firstWith(once, now));
        // Nothing of an abandoned flow has run.
        if (first && (yield* counters.row(first.first))?.closed_as !== "abandoned") return first;
        const refusal = parent && (yield* counters.refusal(parent));
        if (refusal !== undefined) return refusal;
        if (once) yield* keys.replaceOnce(engine, once, id, now);
        yield query(
          `INSERT INTO batch (id, spec, parent, counted, created, close_within, keep, due, flow)
           VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)`,
          [
            ...[id, JSON.stringify(spec), parent?.id ?? null, parent === undefined ? null : "pending", now],
            ...[Math.round(closeWithinMs), Math.round(keepMs), Math.round(now + closeWithinMs), flow ? 1 : null],
          ],
        );
        if (parent !== undefined) yield* addMember(engine, parent.id, now);
        return undefined;
      });
    },

    read(request: { readonly ids: readonly string[] } | BatchPageRequest = {}): Promise<BatchPage> {
      return read(function* () {
        if ("ids" in request) {
          const found: BatchRow[] = [];
          for (const id of request.ids) {
            const row = yield* counters.row(id);
            if (row !== undefined) found.push(row);
          }
          return { batches: found.map(batchOf) };
        }
        const { cursor, limit = 25, flows = false } = request;
        const before = cursor === undefined ? "" : "AND id < ?3";
        const rows = yield query(
          `SELECT * FROM batch WHERE flow IS NOT DISTINCT FROM ?1 ${before} ORDER BY id DESC LIMIT ?2`,
          [flows ? 1 : null, limit + 1, ...(cursor === undefined ? [] : [cursor])],
        );
        const batches = (rows as unknown as readonly BatchRow[]).slice(0, limit).map(batchOf);
        return { batches, ...(rows.length > limit && { next: batches.at(-1)!.id }) };
      });
    },

    close(id: string, as: ClosedAs): Promise<CloseResult> {
      return write((now) => closeBatch(storeJobs, id, as, now));
    },

    admit(lease: StepLease, id: string): Promise<string | undefined> {
      return write(function* (now) {
        yield lock(`batch:${id}`);
        yield holdLease(lease);
        const payload = yield* counters.leasedPayload(lease);
        if (payload === undefined) return undefined;
        const counted = membershipOf({ batch: id, [COUNTED_FIELD]: getField(payload, COUNTED_FIELD) })?.counted;
        if (counted !== undefined) return payload;
        // The batch may be closed: the job was perhaps pushed before. It counts if the batch has not ended.
        if ((yield* counters.refusal({ id }, true)) !== undefined) return undefined;
        const marked = setFields(payload, { [COUNTED_FIELD]: `"pending"` });
        yield query("UPDATE job SET payload = ?1 WHERE id = ?2", [marked, Number.parseInt(lease.token)]);
        yield* addMember(engine, id, now);
        return marked;
      });
    },

    count: (id) => readMoment(() => countMembers(dialect, id)),

    correct(
      id: string,
      { pending, dead, version }: { readonly pending: number; readonly dead: number; readonly version: number },
    ): Promise<boolean> {
      return write(function* (now) {
        const corrected = yield query(
          `UPDATE batch SET pending = ?1, dead = ?2, total = total - pending - dead + ?1 + ?2, version = version + 1
           WHERE id = ?3 AND version = ?4 RETURNING 1`,
          [pending, dead, id, version],
        );
        if (corrected.length === 1) yield* new BatchChanges(storeJobs).advance(id, now);
        return corrected.length === 1;
      });
    },

    async tend(limit: number, only?: "nodes"): Promise<Tended> {
      // A transaction costs a write to the disk, and usually nothing is due.
      if (!await read((now) => hasDue(only, now))) return NOTHING;
      return await write(function* (now) {
        yield* new BatchChanges(storeJobs).spread(limit, now);
        const swept = only === "nodes" ? NOTHING : yield* sweep(storeJobs, limit, now);
        return { ...swept, more: swept.more || (yield* flowRows.hasPending()) };
      }, { rows: limit });
    },
  };
}

function* addMember({ storeJobs }: Engine, batch: string, now: number): Body<void> {
  const changes = new BatchChanges(storeJobs);
  changes.note(batch, undefined, "pending");
  yield* changes.apply(now);
}

function* countMembers({ fieldOf }: Dialect, id: string): Body<MemberCount | undefined> {
  const batch = yield* counters.row(id);
  if (batch === undefined) return undefined;
  const counts = new Map<unknown, number>([["pending", Number(batch.waiting ?? 0)]]); // nodes that wait have no jobs yet
  const add = (counted: unknown, count: number) => counts.set(counted, (counts.get(counted) ?? 0) + count);
  const marked = yield query(
    `SELECT ${fieldOf(COUNTED_FIELD)} AS counted, count(*) AS count FROM job WHERE batch = ?1 GROUP BY 1
     UNION ALL SELECT counted, count(*) FROM batch WHERE parent = ?1 GROUP BY 1`,
    [id],
  );
  for (const { counted, count } of marked) add(counted, Number(count));
  if (counts.has("?")) {
    const text = `SELECT payload FROM job WHERE batch = ?1 AND ${fieldOf(COUNTED_FIELD)} = '?'`;
    for (const { payload } of yield query(text, [id])) add(countedIn(payload as string)?.counted, 1);
  }
  return { batch: batchOf(batch), pending: counts.get("pending")!, dead: counts.get("dead") ?? 0 };
}

function* hasDue(only: "nodes" | undefined, now: number): Body<boolean> {
  if (yield* flowRows.hasPending()) return true;
  if (only === "nodes") return false;
  const [next] = yield query("SELECT min(due) AS due FROM batch WHERE due IS NOT NULL");
  return next!.due !== null && Number(next!.due) <= now;
}

/** Abandons or removes the batches that are due. */
function* sweep(storeJobs: Engine["storeJobs"], limit: number, now: number): Body<Tended> {
  const due = yield query(
    "SELECT id FROM batch WHERE due <= ?1 ORDER BY due LIMIT ?2",
    [now, limit + 1],
  );
  let abandoned = 0;
  let removed = 0;
  for (
    const { id } of inOrder(due.slice(0, limit), ({ id }) => String(id)).reverse() as unknown as readonly BatchRow[]
  ) {
    yield counters.holdBatch(id);
    const row = yield* counters.row(id);
    // It may have been closed, or got a member.
    if (row === undefined || row.due === null || row.due > now) continue;
    const { closed, flow } = row;
    if (closed === null) {
      yield* closeBatch(storeJobs, id, "abandoned", now);
      abandoned++;
    } else if (flow !== null && (yield* flowRows.remove(id, MAX_REMOVED_NODES))) {
      return { abandoned, removed, more: true };
    } else {
      yield query("DELETE FROM batch WHERE id = ?1", [id]);
      removed++;
    }
  }
  return { abandoned, removed, more: due.length > limit };
}

function* closeBatch(storeJobs: Engine["storeJobs"], id: string, as: ClosedAs, now: number): Body<CloseResult> {
  const [kind] = yield query("SELECT flow FROM batch WHERE id = ?1", [id]);
  if (kind !== undefined && kind.flow !== null) yield flowRows.lockAll();
  yield counters.holdBatch(id);
  const row = yield* counters.row(id);
  if (row === undefined) return undefined;
  // A closed batch that has not ended can still be cancelled.
  const canClose = row.closed_as === null || (as === "cancelled" && row.closed_as === "closed" && row.due === null);
  if (!canClose) return { done: false, closedAs: row.closed_as! };
  yield query(
    "UPDATE batch SET closed = coalesce(closed, ?1), closed_as = ?2, due = NULL WHERE id = ?3",
    [now, as, id],
  );
  const changes = new BatchChanges(storeJobs);
  yield* changes.advance(id, now);
  if (row.flow !== null) {
    yield* as === "closed" ? flowRows.start(id) : flowRows.cancel(id);
    yield* changes.spread(TEND_LIMIT, now);
  }
  const waiting = as === "closed" ? 0 : row.waiting ?? 0;
  return { done: true, closedAs: as, ...(waiting > 0 && { waiting }) };
}
