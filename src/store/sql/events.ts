/**
 * The events part of the port: a table with a row per event, and one row with the time until which they are recorded. A step inserts into the
 * view `new_event`, and each statement looks itself whether events are recorded.
 *
 * @module
 */
import { membersOf } from "../../job/event.ts";
import {
  type EventPage,
  type EventStore,
  MAX_KEPT_EVENTS,
  MAX_PAGE_EVENT_CHARACTERS,
  MAX_PAGE_EVENTS,
} from "../port/events.ts";
import { type Body, type Dialect, type Engine, lock, query } from "./body.ts";
import { inParts } from "./in_parts.ts";

/** Events that one step drops. */
const MAX_DROPPED = 2_000;
/** A time that is this close to the wanted one isn't set again: a write of the disk each time would not pay. */
const MIN_SHARE = 0.9;

interface LogRow {
  readonly until: number;
  readonly keep: number;
  readonly trimmed: number;
}

/** Records the ends of jobs, whose rows are there still. */
export function* recordEnds(dialect: Dialect, jobs: readonly number[], members: string, now: number): Body<void> {
  for (const { where, values } of inParts(jobs, "id")) {
    const [at, text] = [`?${values.length + 1}`, `?${values.length + 2}`];
    yield query(
      `INSERT INTO new_event (at, body) SELECT CAST(${at} AS bigint), ${dialect.eventBody(`CAST(${text} AS text)`)}
       FROM job WHERE ${where} AND ${isRecording(at)} ORDER BY id`,
      [...values, now, members],
    );
  }
}

/** Records another event. */
export function* record(members: string, now: number): Body<void> {
  yield query(
    `INSERT INTO new_event (at, body) SELECT CAST(?1 AS bigint), CAST(?2 AS text) WHERE ${isRecording("?1")}`,
    [now, `{${members}}`],
  );
}

function isRecording(now: string): string {
  return `EXISTS (SELECT 1 FROM event_log WHERE until > ${now})`;
}

/** Returns the part, for a store whose events have their IDs when they are inserted. */
export function eventsPart(engine: Engine): EventStore {
  return {
    keep: (ms) => keep(engine, ms),
    last: () => engine.read(lastId),
    read: (after, limit = MAX_PAGE_EVENTS) =>
      engine.readMoment(() => readPage(after, Math.min(limit, MAX_PAGE_EVENTS))),
  };
}

/** See `EventStore.keep`. */
export async function keep({ read, write }: Engine, ms: number): Promise<void> {
  const isSet = await read(function* (now) {
    const [log] = yield query("SELECT until FROM event_log");
    return ms === 0 || log !== undefined && Number(log.until) >= now + MIN_SHARE * ms;
  });
  if (!isSet) await write((now) => extend(ms, now));
  if (!await read(hasOld)) return;
  while (await write(drop, { rows: MAX_DROPPED }));
}

function* extend(ms: number, now: number): Body<void> {
  yield lock("events");
  const [before] = yield query("SELECT until FROM event_log");
  yield query(
    `INSERT INTO event_log (id, until, keep) VALUES (1, ?1, ?2) ON CONFLICT (id) DO UPDATE SET
       keep = CASE WHEN event_log.until <= excluded.until THEN excluded.keep ELSE event_log.keep END,
       until = CASE WHEN event_log.until <= excluded.until THEN excluded.until ELSE event_log.until END`,
    [now + ms, ms],
  );
  const since = Number(before?.until ?? now);
  if (since < now) yield* record(membersOf({ type: "gap", since }), now);
}

/** Returns the ID of the last event that is too old, or one too many; 0 if none is. */
function* lastOld(now: number): Body<number> {
  const [log] = (yield query("SELECT until, keep, trimmed FROM event_log")) as unknown as readonly LogRow[];
  if (log === undefined) return 0;
  const [over] = yield query("SELECT id FROM event WHERE id IS NOT NULL ORDER BY id DESC LIMIT 1 OFFSET ?1", [
    MAX_KEPT_EVENTS,
  ]);
  const rows = yield query("SELECT id, at FROM event WHERE id IS NOT NULL ORDER BY id LIMIT ?1", [MAX_DROPPED]);
  const old = rows.findLastIndex(({ at }) => Number(at) < now - log.keep);
  return Math.max(Number(over?.id ?? 0), Number(rows[old]?.id ?? 0));
}

function* hasOld(now: number): Body<boolean> {
  return (yield* lastOld(now)) > 0;
}

/** Drops a part of the events that are too old or too many. Returns whether there may be more. */
function* drop(now: number): Body<boolean> {
  yield lock("events");
  const until = yield* lastOld(now);
  const gone = yield query(
    "DELETE FROM event WHERE id IN (SELECT id FROM event WHERE id <= ?1 ORDER BY id LIMIT ?2) RETURNING id",
    [until, MAX_DROPPED],
  );
  if (gone.length === 0) return false;
  const last = gone.reduce((last, { id }) => Math.max(last, Number(id)), 0);
  yield query("UPDATE event_log SET trimmed = ?1 WHERE trimmed < ?1", [last]);
  return gone.length === MAX_DROPPED;
}

/** Returns the ID of the latest event. */
export function* lastId(): Body<number> {
  const [last] = yield query("SELECT max(id) AS id FROM event");
  const [log] = yield query("SELECT trimmed FROM event_log");
  return Math.max(Number(last?.id ?? 0), Number(log?.trimmed ?? 0));
}

function* readPage(after: number, limit: number): Body<EventPage> {
  const [log] = yield query("SELECT trimmed FROM event_log");
  const sizes = yield query("SELECT id, length(body) AS size FROM event WHERE id > ?1 ORDER BY id LIMIT ?2", [
    after,
    limit,
  ]);
  let characters = 0;
  let until = after;
  for (const { id, size } of sizes) {
    characters += Number(size);
    if (characters > MAX_PAGE_EVENT_CHARACTERS && until > after) break;
    until = Number(id);
  }
  const rows = yield query("SELECT id, at, body FROM event WHERE id > ?1 AND id <= ?2 ORDER BY id", [after, until]);
  const events = rows.map(({ id, at, body }) => ({ id: Number(id), at: Number(at), body: body as string }));
  const trimmed = Number(log?.trimmed ?? 0);
  return { events, ...(trimmed > after && { missing: trimmed }) };
}

/** Returns whether there are events after an ID. */
export function* hasEvents(after: number): Body<boolean> {
  return (yield query("SELECT 1 FROM event WHERE id > ?1 LIMIT 1", [after])).length > 0;
}
