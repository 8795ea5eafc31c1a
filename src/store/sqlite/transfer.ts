/**
 * The transfer part of the port. Remembered keys and batches are kept as unique locks that no job takes.
 *
 * @module
 */
import { getField } from "../../job/raw.ts";
import { readStepHead, waitsUntil } from "../../job/step.ts";
import {
  type AnnouncedBatch,
  type JobRow,
  KEYS_KEPT_MS,
  type RowPage,
  type StepsRow,
  type ThrottleRow,
  type TransferStore,
} from "../admin/transfer.ts";
import type { NodeRecord } from "../ops/flow_record.ts";
import { transferOf } from "../ops/transfer.ts";
import { nameOf } from "../port/groups.ts";
import { MAX_REMOVED_NODES } from "../sql/batches.ts";
import * as batchRows from "../sql/batch_rows.ts";
import { runNow, wholeText } from "../sql/body.ts";
import { locate, toEntry } from "../sql/entries.ts";
import * as jobRows from "../sql/job_rows.ts";
import * as flowRows from "../sql/flow_rows.ts";
import * as flows from "../sql/flows.ts";
import { idOf } from "../sql/queue_rows.ts";
import { endStep, joinWaiting, stepRecord, takeWake } from "../sql/step_rows.ts";
import type { Context } from "./context.ts";
import * as editor from "./edit.ts";
import * as keys from "./push_keys.ts";
import * as queues from "./queues.ts";

const NODES_PER_PAGE = 100;
const ONCE_KEYS_PER_PAGE = 500;
const THROTTLES_PER_PAGE = 50;
/** A page ends with the throttle that reaches this many pushes. */
const MAX_PAGE_PUSHES = 1_000;

/** Returns the part. */
export function transferPart(context: Context): TransferStore {
  const { commit, read, sql } = context;
  /** Returns a function that handles rows in one transaction. */
  const eachIn = <Row>(handle: (row: Row) => void) => (rows: readonly Row[]) =>
    commit.run(() => rows.forEach(handle), { rows: rows.length });
  const keysOf = (rows: readonly { readonly key: string }[]) => rows.map(({ key }) => key);
  return transferOf({
    async mark(refs) {
      if (refs.length === 0) return await read(() => announced(context));
      return await commit.run(() => {
        const before = announced(context);
        if (before !== undefined) return before;
        const batch = { id: crypto.randomUUID(), refs };
        sql("DELETE FROM departure").run();
        sql("INSERT INTO departure (id, refs) VALUES (?, ?)").run(batch.id, JSON.stringify(refs));
        return batch;
      });
    },
    read: {
      job: ({ ids = [] }) => read(() => ({ rows: ids.flatMap((ref) => jobRow(context, ref) ?? []) })),
      batch: ({ ids = [] }) => read(() => ({ rows: ids.flatMap((id) => runNow(batchRows.row(id), sql) ?? []) })),
      node: ({ ids: [flow = ""] = [], cursor }) =>
        read(() => {
          const rows = runNow(flows.records(flow, cursor, NODES_PER_PAGE), sql).map((columns) => ({
            flow,
            columns: { ...columns },
          }));
          const isLast = rows.length < NODES_PER_PAGE;
          return { rows, ...(!isLast && { next: `${rows.at(-1)!.columns.position}` }) };
        }),
      throttle: ({ cursor }) => read(() => throttlePage(context, cursor)),
      once: ({ cursor }) => read(() => oncePage(context, cursor)),
      key: ({ ids = [] }) =>
        read(() => {
          const now = context.now();
          return { rows: ids.filter((key) => keys.isLocked(context, lockKey(key), now)).map((key) => ({ key })) };
        }),
    },
    put: {
      job: (rows, batch) =>
        commit.run(() => {
          const now = context.now();
          if (!remember(context, batch, now)) return;
          for (const row of rows) putJob(context, row, now);
        }, { rows: rows.length }),
      step: eachIn((row) => putSteps(context, row)),
      batch: eachIn((columns) => {
        // Columns that are null have a default here, or none.
        const names = Object.keys(columns).filter((name) => (columns[name] ?? null) !== null);
        sql(`INSERT OR IGNORE INTO batch (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`)
          .run(...names.map((name) => columns[name]!));
      }),
      node: eachIn(({ flow, columns }) => void runNow(flows.insert(flow, columns as unknown as NodeRecord), sql)),
      throttle: (rows) => commit.run(() => putThrottles(context, rows), { rows: rows.length }),
      // Keys that are remembered here stay.
      once: eachIn(({ key, jid, leftMs, fingerprint }) =>
        void keys.rememberOnce(context, { key, ttlMs: leftMs, fingerprint }, jid, context.now())
      ),
      key: eachIn(({ key }) => void remember(context, key, context.now())),
    },
    drop: {
      job: (rows, batch) =>
        commit.run(() => {
          if (announced(context)?.id === batch) {
            const isSame = ({ ref, payload }: (typeof rows)[number]) =>
              runNow(locate(ref), context.sql)?.payload === payload;
            const gone = rows.filter((row) => isSame(row) && editor.removeMoved(context, row.ref)).length;
            sql("UPDATE departure SET refs = NULL, gone = ?").run(gone);
          }
          return sql("SELECT gone FROM departure WHERE id = ?").get(batch)?.gone;
        }, { rows: rows.length }),
      async batch(rows) {
        for (const { id } of rows) {
          while (await commit.run(() => runNow(flowRows.remove(id, MAX_REMOVED_NODES), sql)));
          await commit.run(() => void sql("DELETE FROM batch WHERE id = ?").run(id));
        }
      },
      throttle: (rows) =>
        commit.run(
          () =>
            void sql("DELETE FROM throttled WHERE key IN (SELECT value FROM json_each(?))").run(
              JSON.stringify(keysOf(rows)),
            ),
          { rows: rows.length },
        ),
      once: (rows) => commit.run(() => keys.forgetOnce(context, keysOf(rows)), { rows: rows.length }),
      key: eachIn(({ key }) => keys.unlock(context, lockKey(key), undefined)),
    },
  });
}

function announced(context: Context): AnnouncedBatch | undefined {
  const row = context.sql("SELECT id, refs FROM departure WHERE refs IS NOT NULL").get();
  return row && { id: row.id as string, refs: JSON.parse(row.refs as string) as string[] };
}

/** Remembers a key. Returns false if it is remembered already. */
function remember(context: Context, key: string, now: number): boolean {
  return keys.lock(context, { key: lockKey(key), ttlMs: KEYS_KEPT_MS }, lockKey(key), now) === undefined;
}

function jobRow(context: Context, ref: string): JobRow | undefined {
  const row = runNow(locate(ref), context.sql);
  if (row === undefined || row.place === "running") return undefined;
  const { place, payload, at } = toEntry(row);
  const debounce = place.in === "scheduled" && row.jid !== null &&
    context.sql("SELECT key, first FROM debounce WHERE job = ?").get(row.id);
  return {
    ...{ ref, place: place as JobRow["place"], payload },
    ...(at !== undefined && { at }),
    ...(debounce && { debounce: { key: String(debounce.key), firstAt: Number(debounce.first), jid: row.jid! } }),
  };
}

function putJob(context: Context, { place, payload, at, unique, debounce }: JobRow, now: number): void {
  const jid = getField(payload, "jid");
  const id = runNow(jobRows.create({ jid: typeof jid === "string" ? jid : null, payload }), context.sql);
  if (place.in === "queue") {
    queues.append(context, [[runNow(idOf(nameOf(place.queue, place.group)), context.sql), id, id]]);
  } else {
    const isAwake = place.in === "scheduled" && typeof jid === "string" && runNow(takeWake(jid), context.sql);
    runNow(jobRows.addTo(place.in, isAwake ? now : at ?? now, id), context.sql);
  }
  if (unique) keys.lock(context, unique, unique.jid, now);
  if (debounce) {
    const first = Math.min(Math.round(debounce.firstAt), now);
    context.sql("INSERT OR IGNORE INTO debounce (key, job, first) VALUES (?, ?, ?)").run(debounce.key, id, first);
  }
}

function putSteps(context: Context, { jid, steps }: StepsRow): void {
  const { sql } = context;
  for (const { name, record } of steps) {
    const until = waitsUntil(record);
    const present = runNow(stepRecord(jid, name), sql);
    if (present !== undefined) {
      if (until === undefined && waitsUntil(present) !== undefined) runNow(endStep(jid, name, record), sql);
      continue;
    }
    sql("INSERT INTO step (jid, name, record) VALUES (?, ?, ?)").run(jid, name, record);
    const key = until === undefined ? undefined : readStepHead(name, record, Infinity).key;
    if (key !== undefined) runNow(joinWaiting({ key, jid, name, until: until! }), sql);
  }
}

function oncePage({ sql, now: clock }: Context, cursor = ""): RowPage<"once"> {
  const now = clock();
  const found = sql(
    "SELECT CAST(key AS BLOB) AS name, jid, expires, fingerprint FROM once_key WHERE key > ? AND expires > ? ORDER BY key LIMIT ?",
  ).all(cursor, now, ONCE_KEYS_PER_PAGE) as { name: Uint8Array; jid: string; expires: number; fingerprint: string }[];
  const rows = found.map((row) => {
    const { jid, expires, fingerprint } = row;
    return { key: wholeText(row.name), jid, leftMs: expires - now, fingerprint };
  });
  return { rows, ...(found.length === ONCE_KEYS_PER_PAGE && { next: rows.at(-1)!.key }) };
}

function throttlePage({ sql, now: clock }: Context, cursor = ""): RowPage<"throttle"> {
  const now = clock();
  const keys = sql("SELECT DISTINCT key FROM throttled WHERE key > ? AND expires > ? ORDER BY key LIMIT ?")
    .all(cursor, now, THROTTLES_PER_PAGE) as { key: string }[];
  const rows: ThrottleRow[] = [];
  let count = 0;
  for (const { key } of keys) {
    if (count >= MAX_PAGE_PUSHES) break;
    const all = sql("SELECT jid, at, expires FROM throttled WHERE key = ? AND expires > ? ORDER BY at DESC, id DESC")
      .all(key, now) as { jid: string; at: number; expires: number }[];
    const pushes = all.map(({ jid, at }) => ({ jid, agoMs: Math.max(0, now - at) }));
    rows.push({ key, perMs: all[0]!.expires - all[0]!.at, pushes });
    count += pushes.length;
  }
  const isLast = keys.length < THROTTLES_PER_PAGE && rows.length === keys.length;
  return { rows, ...(!isLast && { next: rows.at(-1)!.key }) };
}

/** Stores throttles of another store. One that counts pushes here already keeps them. */
function putThrottles({ sql, now: clock }: Context, throttles: readonly ThrottleRow[]): void {
  const now = clock();
  for (const { key, perMs, pushes } of throttles) {
    if (sql("SELECT 1 FROM throttled WHERE key = ? AND expires > ?").get(key, now) !== undefined) continue;
    for (const { jid, agoMs } of pushes.toReversed()) {
      const at = Math.round(now - agoMs);
      sql("INSERT INTO throttled (key, jid, at, expires) VALUES (?, ?, ?, ?)").run(key, jid, at, Math.ceil(at + perMs));
    }
  }
}

/** Returns the key of the lock that remembers `key`. No digest of a class and its arguments begins like this. */
function lockKey(key: string): string {
  return `imported:${key}`;
}
