/**
 * The transfer part of the port. Remembered keys and batches are kept as unique locks that no job takes.
 *
 * @module
 */
import { getField } from "../../job/raw.ts";
import { endedRecord, readStepHead, waitsUntil } from "../../job/step.ts";
import {
  type AnnouncedBatch,
  type Columns,
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
import * as batchRows from "./batch_rows.ts";
import { MAX_REMOVED_NODES } from "./batches.ts";
import { type Body, type Dialect, type Engine, lock, query, wholeText } from "./body.ts";
import * as editor from "./edit.ts";
import { locate, toEntry } from "./entries.ts";
import * as flowRows from "./flow_rows.ts";
import * as flows from "./flows.ts";
import { inTexts } from "./in_parts.ts";
import * as jobRows from "./job_rows.ts";
import * as keys from "./push_keys.ts";
import { add, idOf } from "./queue_rows.ts";
import { importStream } from "./streams.ts";
import {
  endStep,
  holdStep,
  joinWaiting,
  leaveWaiting,
  makeDue,
  signalLock,
  sleepLock,
  stepRecord,
  takeKept,
  takeWake,
} from "./step_rows.ts";

const NODES_PER_PAGE = 100;
const ONCE_KEYS_PER_PAGE = 500;
const THROTTLES_PER_PAGE = 50;
/** A page ends with the throttle that reaches this many pushes. */
const MAX_PAGE_PUSHES = 1_000;

/** Returns the part. */
export function transferPart(engine: Engine): TransferStore {
  const { write, read, dialect } = engine;
  /** Returns a function that handles rows in one transaction. */
  const eachIn = <Row>(handle: (row: Row, now: number) => Body<unknown>) => (rows: readonly Row[]) =>
    write(function* (now) {
      for (const row of rows) yield* handle(row, now);
    }, { rows: rows.length });
  const keysOf = (rows: readonly { readonly key: string }[]) => rows.map(({ key }) => key);
  return transferOf({
    async mark(refs) {
      if (refs.length === 0) return await read(announced);
      return await write(function* () {
        yield lock("departure");
        const before = yield* announced();
        if (before !== undefined) return before;
        const batch = { id: crypto.randomUUID(), refs };
        yield query("DELETE FROM departure");
        yield query("INSERT INTO departure (id, refs) VALUES (?1, ?2)", [batch.id, JSON.stringify(refs)]);
        return batch;
      });
    },
    read: {
      job: ({ ids = [] }) =>
        read(function* () {
          const rows: JobRow[] = [];
          for (const ref of ids) {
            const row = yield* jobRow(ref);
            if (row !== undefined) rows.push(row);
          }
          return { rows };
        }),
      batch: ({ ids = [] }) =>
        read(function* () {
          const rows: Columns[] = [];
          for (const id of ids) {
            const row = yield* batchRows.row(id);
            if (row !== undefined) rows.push(row as unknown as Columns);
          }
          return { rows };
        }),
      node: ({ ids: [flow = ""] = [], cursor }) =>
        read(function* () {
          const records = yield* flows.records(flow, cursor, NODES_PER_PAGE);
          const rows = records.map((columns) => ({ flow, columns: { ...columns } }));
          const isLast = rows.length < NODES_PER_PAGE;
          return { rows, ...(!isLast && { next: `${rows.at(-1)!.columns.position}` }) };
        }),
      throttle: ({ cursor }) => read((now) => throttlePage(cursor, now)),
      once: ({ cursor }) => read((now) => oncePage(dialect, cursor, now)),
      key: ({ ids = [] }) =>
        read(function* (now) {
          const rows: { readonly key: string }[] = [];
          for (const key of ids) if (yield* keys.isLocked(lockKey(key), now)) rows.push({ key });
          return { rows };
        }),
    },
    put: {
      job: (rows, batch) =>
        write(function* (now) {
          if (!(yield* remember(batch, now))) return;
          for (const row of rows) yield* putJob(engine, row, now);
        }, { rows: rows.length }),
      step: eachIn(putSteps),
      stream: eachIn(importStream),
      batch: eachIn(function* (columns) {
        // Columns that are null have a default here, or none.
        const names = Object.keys(columns).filter((name) => (columns[name] ?? null) !== null);
        yield query(
          `INSERT INTO batch (${names.join(", ")}) VALUES (${names.map((_, i) => `?${i + 1}`).join(", ")})
           ON CONFLICT DO NOTHING`,
          names.map((name) => columns[name]!),
        );
      }),
      node: eachIn(({ flow, columns }) => flows.insert(flow, columns as unknown as NodeRecord)),
      throttle: eachIn(putThrottle),
      // Keys that are remembered here stay.
      once: eachIn(({ key, jid, leftMs, fingerprint }, now) =>
        keys.rememberOnce({ key, ttlMs: leftMs, fingerprint }, jid, now)
      ),
      key: eachIn(({ key }, now) => remember(key, now)),
    },
    drop: {
      job: (rows, batch) =>
        write(function* (now) {
          yield lock("departure");
          if ((yield* announced())?.id === batch) {
            let gone = 0;
            for (const { ref, payload } of rows) {
              if (yield* editor.removeMoved(engine, ref, payload, now)) gone++;
            }
            yield query("UPDATE departure SET refs = NULL, gone = ?1", [gone]);
          }
          return (yield query("SELECT gone FROM departure WHERE id = ?1", [batch]))[0]?.gone;
        }, { rows: rows.length }),
      async batch(rows) {
        for (const { id } of rows) {
          while (await write(() => flowRows.remove(id, MAX_REMOVED_NODES)));
          await write(function* () {
            yield query("DELETE FROM batch WHERE id = ?1", [id]);
          });
        }
      },
      throttle: (rows) =>
        write(function* () {
          for (const { where, values } of inTexts(keysOf(rows), "key")) {
            yield query(`DELETE FROM throttled WHERE ${where}`, values);
          }
        }, { rows: rows.length }),
      once: (rows) => write(() => keys.forgetOnce(keysOf(rows)), { rows: rows.length }),
      key: eachIn(({ key }) => keys.unlock(lockKey(key), undefined)),
    },
  });
}

function* announced(): Body<AnnouncedBatch | undefined> {
  const [row] = yield query("SELECT id, refs FROM departure WHERE refs IS NOT NULL");
  return row && { id: row.id as string, refs: JSON.parse(row.refs as string) as string[] };
}

/** Remembers a key. Returns false if it is remembered already. */
function* remember(key: string, now: number): Body<boolean> {
  yield lock(`unique:${lockKey(key)}`);
  return (yield* keys.lock({ key: lockKey(key), ttlMs: KEYS_KEPT_MS }, lockKey(key), now)) === undefined;
}

function* jobRow(ref: string): Body<JobRow | undefined> {
  const row = yield* locate(ref);
  if (row === undefined || row.place === "running") return undefined;
  const { place, payload, at } = toEntry(row);
  const [debounce] = place.in !== "scheduled" || row.jid === null
    ? []
    : yield query("SELECT key, first FROM debounce WHERE job = ?1", [row.id]);
  return {
    ...{ ref, place: place as JobRow["place"], payload },
    ...(at !== undefined && { at }),
    ...(debounce && { debounce: { key: String(debounce.key), firstAt: Number(debounce.first), jid: row.jid! } }),
  };
}

function* putJob(engine: Engine, { place, payload, at, unique, debounce }: JobRow, now: number): Body<void> {
  const jid = getField(payload, "jid");
  const id = yield* jobRows.create({ jid: typeof jid === "string" ? jid : null, payload });
  if (place.in === "queue") yield* add(engine, yield* idOf(nameOf(place.queue, place.group)), id);
  else {
    if (place.in === "scheduled" && typeof jid === "string") yield lock(sleepLock(jid));
    const isAwake = place.in === "scheduled" && typeof jid === "string" && (yield* takeWake(jid));
    yield* jobRows.addTo(place.in, isAwake ? now : at ?? now, id);
  }
  if (unique) {
    yield lock(`unique:${unique.key}`);
    yield* keys.lock(unique, unique.jid, now);
  }
  if (debounce) {
    const first = Math.min(Math.round(debounce.firstAt), now);
    yield query("INSERT INTO debounce (key, job, first) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING", [
      debounce.key,
      id,
      first,
    ]);
  }
}

function* putSteps({ jid, steps, receives }: StepsRow, now: number): Body<void> {
  const keys = steps.flatMap(({ name, record }) =>
    waitsUntil(record) === undefined ? [] : readStepHead(name, record, Infinity).key ?? []
  );
  if (receives && keys.length > 0) yield lock(...keys.map(signalLock));
  yield lock(`steps:${jid}`, sleepLock(jid));
  if (!receives) yield* leaveWaiting([jid]);
  for (const { name, record } of steps) {
    const until = waitsUntil(record);
    yield holdStep(jid, name);
    const present = yield* stepRecord(jid, name);
    if (present === undefined) {
      yield query("INSERT INTO step (jid, name, record) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING", [
        jid,
        name,
        record,
      ]);
    } else if (waitsUntil(present) === undefined) continue;
    else if (until === undefined) yield* endStep(jid, name, record);
    const key = until === undefined ? undefined : readStepHead(name, record, Infinity).key;
    if (key === undefined || !receives) continue;
    const kept = yield* takeKept(key, now);
    if (kept === undefined) yield* joinWaiting({ key, jid, name, until: until! });
    else {
      yield* endStep(jid, name, endedRecord(record, now, `"value":${kept}`));
      yield* makeDue(jid, now);
    }
  }
}

function* oncePage({ whole }: Dialect, cursor: string | undefined, now: number): Body<RowPage<"once">> {
  const found = (yield query(
    `SELECT ${whole("key")} AS name, jid, expires, fingerprint FROM once_key
     WHERE key > ?1 AND expires > ?2 ORDER BY key LIMIT ?3`,
    [cursor ?? "", now, ONCE_KEYS_PER_PAGE],
  )) as unknown as readonly { name: unknown; jid: string; expires: number; fingerprint: string }[];
  const rows = found.map((row) => {
    const { jid, expires, fingerprint } = row;
    return { key: wholeText(row.name), jid, leftMs: expires - now, fingerprint };
  });
  return { rows, ...(found.length === ONCE_KEYS_PER_PAGE && { next: rows.at(-1)!.key }) };
}

function* throttlePage(cursor: string | undefined, now: number): Body<RowPage<"throttle">> {
  const keys = (yield query(
    "SELECT DISTINCT key FROM throttled WHERE key > ?1 AND expires > ?2 ORDER BY key LIMIT ?3",
    [cursor ?? "", now, THROTTLES_PER_PAGE],
  )) as unknown as readonly { key: string }[];
  const rows: ThrottleRow[] = [];
  let count = 0;
  for (const { key } of keys) {
    if (count >= MAX_PAGE_PUSHES) break;
    const all = (yield query(
      "SELECT jid, at, expires FROM throttled WHERE key = ?1 AND expires > ?2 ORDER BY at DESC, id DESC",
      [key, now],
    )) as unknown as readonly { jid: string; at: number; expires: number }[];
    const pushes = all.map(({ jid, at }) => ({ jid, agoMs: Math.max(0, now - at) }));
    rows.push({ key, perMs: all[0]!.expires - all[0]!.at, pushes });
    count += pushes.length;
  }
  const isLast = keys.length < THROTTLES_PER_PAGE && rows.length === keys.length;
  return { rows, ...(!isLast && { next: rows.at(-1)!.key }) };
}

/** Stores a throttle of another store. One that counts pushes here already keeps them. */
function* putThrottle({ key, perMs, pushes }: ThrottleRow, now: number): Body<void> {
  yield lock(`throttle:${key}`);
  const counts = yield query("SELECT 1 FROM throttled WHERE key = ?1 AND expires > ?2 LIMIT 1", [key, now]);
  if (counts.length > 0) return;
  for (const { jid, agoMs } of pushes.toReversed()) {
    const at = Math.round(now - agoMs);
    yield query("INSERT INTO throttled (key, jid, at, expires) VALUES (?1, ?2, ?3, ?4)", [
      ...[key, jid, at, Math.ceil(at + perMs)],
    ]);
  }
}

/** Returns the key of the lock that remembers `key`. No digest of a class and its arguments begins like this. */
function lockKey(key: string): string {
  return `imported:${key}`;
}
