/**
 * The streams part of the port: a row per stream, and a row for the chunks of each write.
 *
 * @module
 */
import {
  MAX_PAGE_CHARACTERS,
  MAX_STREAM_CHARACTERS,
  type NewChunks,
  newChunks,
  type StreamPage,
  type StreamPart,
  type StreamStore,
  TAIL_MS,
} from "../port/streams.ts";
import { MAX_RECORDS } from "../port/results.ts";
import type { StepLease } from "../port/steps.ts";
import type { StreamRow } from "../admin/transfer.ts";
import { type Body, type Engine, lock, query } from "./body.ts";
import { inTexts } from "./in_parts.ts";
import { holdLease, partsOf } from "./step_rows.ts";
import { workerIn } from "./workers.ts";

/** Rows that are looked at in one step, to drop or to return them. */
const STEP = 100;

/** Returns the part. */
export function streamsPart({ write, read }: Engine): StreamStore {
  return {
    append: (lease, chunks) => write(() => append(lease, chunks)),
    read: (jid, after) => read((now) => readPage(jid, after, now)),
  };
}

const encoder = new TextEncoder();

function byteLength(text: string): number {
  return encoder.encode(text).length;
}

interface StoredStream {
  readonly token: string;
  readonly run: number;
  readonly written: number;
  readonly last: number;
  readonly size: number;
}

function* append({ worker, token, jid }: StepLease, given: NewChunks): Body<boolean> {
  yield lock(`stream:${jid}`);
  yield holdLease({ worker, token });
  const [lease] = yield query(
    `SELECT 1 FROM lease WHERE job = ?1 AND take = ?2 AND worker_id = ${workerIn("?3")}`,
    [...partsOf(token), worker],
  );
  if (lease === undefined) return false;
  const [row] = yield query("SELECT token, run, written, last, size FROM stream WHERE jid = ?1", [jid]);
  const stream = row as StoredStream | undefined;
  const isSame = stream?.token === token;
  const fresh = newChunks(given, isSame ? Number(stream.written) : 0);
  if (fresh === undefined) return true;
  const run = Number(stream?.run ?? 0) + (isSame ? 0 : 1);
  const body = `[${fresh.chunks.join(",")}]`;
  const last = Number(stream?.last ?? 0) + fresh.skipped + fresh.chunks.length;
  const size = Number(stream?.size ?? 0) + byteLength(body);
  yield query("INSERT INTO stream_part (jid, last, run, attempt, body) VALUES (?1, ?2, ?3, ?4, ?5)", [
    ...[jid, last, run, given.attempt, body],
  ]);
  const kept = size > MAX_STREAM_CHARACTERS ? size - (yield* drop(jid, size - MAX_STREAM_CHARACTERS)) : size;
  yield query(
    `INSERT INTO stream (jid, token, run, written, last, size) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
     ON CONFLICT (jid) DO UPDATE SET token = excluded.token, run = excluded.run, written = excluded.written,
       last = excluded.last, size = excluded.size, ended = 0, record = NULL, expires = NULL`,
    [jid, token, run, given.from + given.chunks.length, last, kept],
  );
  return true;
}

/** Continues the stream of a job with parts from another store. Those that exist here stay. */
export function* importStream({ jid, parts }: StreamRow): Body<void> {
  yield lock(`stream:${jid}`);
  const [row] = yield query("SELECT last FROM stream WHERE jid = ?1", [jid]);
  for (const { last, run, attempt, body } of parts) {
    if (last <= Number(row?.last ?? 0)) continue;
    yield query("INSERT INTO stream_part (jid, last, run, attempt, body) VALUES (?1, ?2, ?3, ?4, ?5)", [
      ...[jid, last, run, attempt, body],
    ]);
    yield query(
      `INSERT INTO stream (jid, token, run, written, last, size) VALUES (?1, '', ?2, 0, ?3, ?4)
       ON CONFLICT (jid) DO UPDATE SET run = excluded.run, last = excluded.last, size = stream.size + excluded.size`,
      [jid, run, last, byteLength(body)],
    );
  }
}

/** Drops the earliest parts until they have this many bytes together, up to {@linkcode STEP}. Returns how many they had. */
function* drop(jid: string, atLeast: number): Body<number> {
  const rows = yield query(
    "SELECT last, octet_length(body) AS size FROM stream_part WHERE jid = ?1 ORDER BY last LIMIT ?2",
    [jid, STEP],
  );
  let dropped = 0;
  let until = 0;
  for (const { last, size } of rows) {
    if (dropped >= atLeast) break;
    dropped += Number(size);
    until = Number(last);
  }
  yield query("DELETE FROM stream_part WHERE jid = ?1 AND last <= ?2", [jid, until]);
  return dropped;
}

function* readPage(jid: string, after: number, now: number): Body<StreamPage | undefined> {
  const [row] = yield query(
    "SELECT last, ended FROM stream WHERE jid = ?1 AND (expires IS NULL OR expires > ?2)",
    [jid, now],
  );
  if (row === undefined) return undefined;
  const sizes = yield query(
    "SELECT last, octet_length(body) AS size FROM stream_part WHERE jid = ?1 AND last > ?2 ORDER BY last LIMIT ?3",
    [jid, after, STEP],
  );
  let bytes = 0;
  let until = after;
  for (const { last, size } of sizes) {
    bytes += Number(size);
    if (bytes > MAX_PAGE_CHARACTERS && until > after) break;
    until = Number(last);
  }
  const parts = yield query(
    "SELECT last, run, attempt, body FROM stream_part WHERE jid = ?1 AND last > ?2 AND last <= ?3 ORDER BY last",
    [jid, after, until],
  );
  return { parts: parts.map(partIn), last: Number(row.last), ended: Number(row.ended) === 1 };
}

function partIn({ last, run, attempt, body }: Readonly<Record<string, unknown>>): StreamPart {
  return { last: Number(last), run: Number(run), attempt: Number(attempt), body: body as string };
}

/** Returns whether a stream has chunks after a number, or has ended. */
export function* hasChunks(jid: string, after: number): Body<boolean> {
  return (yield query("SELECT 1 FROM stream WHERE jid = ?1 AND (last > ?2 OR ended = 1)", [jid, after])).length > 0;
}

/** Ends the streams of jobs that have ended: they stay with their records. Drops those that no record keeps any more. */
export function* endStreams(jids: readonly string[], now: number): Body<void> {
  let hasStreams = false;
  for (const { where, values } of inTexts(jids, "jid")) {
    const ended = yield query(
      `UPDATE stream SET ended = 1, record = (SELECT id FROM record WHERE record.jid = stream.jid),
         expires = CASE WHEN EXISTS (SELECT 1 FROM record WHERE record.jid = stream.jid)
           THEN (SELECT expires FROM record WHERE record.jid = stream.jid) ELSE ?${values.length + 1} END
       WHERE ${where} RETURNING 1`,
      [...values, now + TAIL_MS],
    );
    hasStreams ||= ended.length > 0;
  }
  if (!hasStreams) return;
  const gone = yield query(
    "SELECT jid FROM stream WHERE expires <= ?1 OR record <= (SELECT max(id) FROM record) - ?2 LIMIT ?3",
    [now, MAX_RECORDS, STEP],
  );
  for (const { where, values } of inTexts(gone.map(({ jid }) => jid as string), "jid")) {
    yield query(`DELETE FROM stream_part WHERE ${where}`, values);
    yield query(`DELETE FROM stream WHERE ${where}`, values);
  }
}
