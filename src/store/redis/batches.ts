/**
 * Batches: see `BatchStore`.
 *
 * @module
 */
import { BATCH_COLUMNS, batchOf, type BatchRow, type BatchSpec } from "../ops/batch_record.ts";
import type { BatchRefusal, BatchStore, ClosedAs, FirstBatch, NewBatch } from "../port/batches.ts";
import { SCRIPTS } from "./client/scripts.ts";
import type { Context } from "./context.ts";
import { withoutBrace } from "./enqueue.ts";
import { BATCHES, batchKey, FLOWS, leasesKey } from "./keys.ts";

/** Stores with more jobs, or larger ones, are counted in several steps: this many take Redis some 10 ms. */
export const MAX_COUNTED_JOBS = 5_000;
const MAX_COUNTED_BYTES = 4 * 1_024 * 1_024;

/** Returns the part. */
export function batchesPart({ client, offset, wire }: Context): BatchStore {
  return {
    async create(
      { id, parent, closeWithinMs, keepMs, flow, once, ...spec }: NewBatch,
    ): Promise<BatchRefusal | FirstBatch | undefined> {
      const reply = await client.run(SCRIPTS.batchCreate, {
        ...{
          key: batchKey(id),
          now: offset(),
          id,
          parent: parent?.id,
          worker: parent?.by?.worker,
          token: parent?.by?.token,
        },
        ...{ closeWithin: Math.round(closeWithinMs), keep: Math.round(keepMs), wire, flow, spec: JSON.stringify(spec) },
        ...{ once: once?.key, onceFor: Math.ceil(once?.ttlMs ?? 0), fingerprint: once?.fingerprint },
        callbacks: packCallbacks(spec),
      }) as string;
      if (reply === "") return undefined;
      const [sign] = reply;
      if (sign !== "=" && sign !== "#") return reply as BatchRefusal;
      return { first: reply.slice(1), ...(sign === "#" && { differs: true }) };
    },

    async read(request = {}) {
      if ("ids" in request) {
        const rows = await Promise.all(request.ids.map((id) => client.call(["HGETALL", batchKey(id)])));
        return {
          batches: (rows as Record<string, string>[]).map(rowOf).filter((row) => row !== undefined).map(batchOf),
        };
      }
      const { cursor = "", limit = 25, flows = false } = request;
      const args = { list: flows ? FLOWS : BATCHES, after: cursor, limit: limit + 1 };
      const reply = await client.run(SCRIPTS.batchPage, args) as string[][];
      const batches = reply.map((fields) => rowOf(pairs(fields))).filter((row) => row !== undefined).map(batchOf);
      const shown = batches.slice(0, limit);
      return { batches: shown, ...(batches.length > limit && { next: shown.at(-1)!.id }) };
    },

    async close(id, as) {
      const reply = await client.run(SCRIPTS.batchClose, { now: offset(), id, as }) as [
        (0 | 1)?,
        ClosedAs?,
        number?,
      ];
      const [done, closedAs, waiting = 0] = reply;
      return closedAs === undefined ? undefined : { done: done === 1, closedAs, ...(waiting > 0 && { waiting }) };
    },

    async admit({ worker, token }, id) {
      const args = { leases: leasesKey(worker), now: offset(), token, id };
      const payload = await client.run(SCRIPTS.batchAdmit, args);
      return payload as string | null ?? undefined;
    },

    async count(id) {
      const limits = { maxJobs: MAX_COUNTED_JOBS, maxBytes: MAX_COUNTED_BYTES };
      const reply = await client.run(SCRIPTS.batchCount, { id, ...limits }) as "large" | [
        number,
        number,
        ...string[],
      ];
      if (reply === "large") return reply;
      const [pending, dead, ...fields] = reply;
      const row = rowOf(pairs(fields));
      return row && { batch: batchOf(row), pending: pending + (row.waiting ?? 0), dead };
    },

    async correct(id, { pending, dead, version }) {
      const args = { now: offset(), id, version, pending, dead };
      return await client.run(SCRIPTS.batchCorrect, args) === 1;
    },

    async tend(limit, only) {
      const reply = await client.run(SCRIPTS.batchTend, { now: offset(), limit, only }) as [number, number, 0 | 1];
      return { abandoned: reply[0], removed: reply[1], more: reply[2] === 1 };
    },
  };
}

/** Returns the callbacks with payloads without their closing brace. */
export function packCallbacks({ callbacks }: BatchSpec): { event: string; queue: string; payload: string }[] {
  return Object.entries(callbacks).map(([event, { queue, payload }]) => ({
    event,
    queue,
    payload: withoutBrace(payload)!,
  }));
}

function pairs(fields: readonly string[]): Record<string, string> {
  const record: Record<string, string> = {};
  for (let i = 0; i < fields.length; i += 2) record[fields[i]!] = fields[i + 1]!;
  return record;
}

/** The fields that are texts. The others are numbers. */
const TEXTS: ReadonlySet<string> = new Set(["id", "spec", "parent", "counted", "closed_as"]);

/** Returns the row of a hash; undefined if that doesn't exist. */
export function rowOf(fields: Record<string, string>): BatchRow | undefined {
  if (fields["id"] === undefined) return undefined;
  const row: Record<string, string | number | null> = {};
  for (const name of Object.keys(BATCH_COLUMNS)) {
    const text = fields[name];
    row[name] = text === undefined ? null : TEXTS.has(name) ? text : Number(text) || 0;
  }
  return row as unknown as BatchRow;
}
