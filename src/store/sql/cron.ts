/**
 * The cron part of the port. One transaction writes entries together with the jobs that follow.
 *
 * @module
 */
import {
  CLAIM_MS,
  type CronClaim,
  type CronPage,
  type CronPageRequest,
  type CronReading,
  type CronRemoval,
  cronSteps,
  type CronStore,
  type CronSurvey,
  type CronWrite,
  type StoredCron,
} from "../port/cron.ts";
import { CursorError } from "../port/cursor.ts";
import { type Body, type Engine, hold, lock, query, type Row, type Value } from "./body.ts";
import { type CronRow, firstDue, NEVER, rowsOf, toStored } from "./cron_rows.ts";
import { writeAll } from "./cron_writes.ts";
import { inTexts } from "./in_parts.ts";

const DEFAULT_LIMIT = 100;
/** Maximum number of entries that one step plans again. */
const REPLANNED_PER_STEP = 1_000;
/** Later than any text in a column of names. */
const AFTER_ALL = "\u{10FFFF}";

/** Stores the cron entries. */
export class Cron implements CronStore {
  readonly #engine: Engine;
  /** The number of announced changes at the last survey. */
  #changesRead = -1;

  /** The number of announced changes at the last survey. */
  get changesRead(): number {
    return this.#changesRead;
  }

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  read(names: readonly string[]): Promise<CronReading> {
    return this.#engine.read(function* (now) {
      const rows = yield* rowsOf(names);
      return { now, entries: names.flatMap((name) => rows.get(name) ?? []).map(toStored) };
    });
  }

  page(request: CronPageRequest = {}): Promise<CronPage> {
    return this.#engine.read((now) => readPage(request, now));
  }

  async survey(configured: readonly string[]): Promise<CronSurvey> {
    if (configured.length > 0) {
      await this.#engine.write((now) => markSeen(configured, now), { rows: configured.length });
    }
    const { changes, ...survey } = await this.#engine.read(readSurvey);
    this.#changesRead = changes;
    return survey;
  }

  async claim(limit: number): Promise<CronClaim> {
    // A transaction costs a write to the disk, and usually nothing is due.
    const { now, next = Infinity } = await this.#engine.read(function* (now) {
      return { now, next: yield* firstDue() };
    });
    if (next > now) return { now, entries: [], next: next === Infinity ? undefined : next };
    return await this.#engine.write((now) => claimDue(limit, now), { rows: limit, deferrable: true });
  }

  async write(writes: readonly (CronWrite | CronRemoval)[]): Promise<(number | undefined)[]> {
    const versions: (number | undefined)[] = [];
    for (const some of cronSteps(writes)) {
      const rows = some.reduce((sum, one) => sum + ("remove" in one ? 1 : 1 + one.jobs.length + one.records.length), 0);
      versions.push(...await this.#engine.write((now) => writeAll(this.#engine, some, now), { rows }));
    }
    return versions;
  }

  async replan(): Promise<void> {
    for (let after: string | undefined = ""; after !== undefined;) {
      const from: string = after;
      after = await this.#engine.write((now) => replanSome(from, now), { rows: REPLANNED_PER_STEP });
    }
  }

  /** Returns whether a change was announced since the last survey. */
  *hasChanged(): Body<boolean> {
    return (yield* countChanges()) !== this.#changesRead;
  }
}

/** Jobs have left the store, or are dead: their cron entries no longer have a live job. */
export function* endLive(jids: readonly string[]): Body<void> {
  for (const { where, values } of inTexts(jids, "live")) {
    yield hold(`SELECT 1 FROM cron WHERE ${where} ORDER BY name FOR UPDATE`, values);
    const entries = yield query(`SELECT name, awaited FROM cron WHERE ${where}`, values);
    if (entries.length === 0) continue;
    const awaited = entries.reduce((sum, { awaited }) => sum + Number(awaited), 0);
    const [counter] = yield query(
      "UPDATE cron_counter SET version = version + 1, changes = changes + ?1 RETURNING version",
      [awaited],
    );
    const version = `?${values.length + 1}`;
    yield query(
      `UPDATE cron SET live = NULL, version = CAST(${version} AS bigint), next = CASE WHEN awaited = 1 THEN 0 ELSE next END, awaited = 0
       WHERE ${where}`,
      [...values, Number(counter!.version)],
    );
  }
}

function* markSeen(names: readonly string[], now: number): Body<void> {
  for (const name of names.toSorted()) yield query("UPDATE cron SET seen_at = ?1 WHERE name = ?2", [now, name]);
}

function* readSurvey(now: number): Body<CronSurvey & { readonly changes: number }> {
  // Read the number before the entries: a change in between is then reported twice rather than missed.
  const [counter] = yield query("SELECT changes, latest FROM cron_counter");
  const rows = yield query("SELECT name, version, seen_at FROM cron WHERE shared = 0 ORDER BY name");
  const entries = rows.map(({ name, version, seen_at }) => ({
    ...{ name: String(name), version: Number(version), seenAt: Number(seen_at) },
  }));
  return { changes: Number(counter!.changes), latest: Number(counter!.latest), now, entries };
}

function* claimDue(limit: number, now: number): Body<CronClaim> {
  yield lock("cron");
  const rows = yield query(
    `UPDATE cron SET next = ?1 WHERE name IN
       (SELECT name FROM cron WHERE shared = 1 AND next <= ?2 ORDER BY next, name LIMIT ?3) RETURNING *`,
    [now + CLAIM_MS, now, limit],
  );
  return { now, entries: entriesIn(rows), next: yield* firstDue() };
}

function* readPage(
  { prefix = "", tag, sort, cursor, limit = DEFAULT_LIMIT }: CronPageRequest,
  now: number,
): Body<CronPage> {
  const rows = sort === "next"
    ? yield* pageByNext(cursor, limit + 1)
    : yield* pageByName({ prefix, tag, cursor }, limit + 1);
  const entries = entriesIn(rows.slice(0, limit));
  const last = entries.at(-1);
  if (rows.length <= limit || last === undefined) return { now, entries };
  return { now, entries, next: sort === "next" ? `${last.next ?? NEVER} ${last.name}` : last.name };
}

function* pageByName(
  { prefix, tag, cursor }: { prefix: string; tag?: string | undefined; cursor?: string | undefined },
  limit: number,
): Body<readonly Row[]> {
  const values: Value[] = [cursor ?? prefix, `${prefix}${AFTER_ALL}`, limit];
  const range = `name ${cursor === undefined ? ">=" : ">"} ?1 AND name < ?2`;
  if (tag === undefined) return yield query(`SELECT * FROM cron WHERE ${range} ORDER BY name LIMIT ?3`, values);
  return yield query(
    `SELECT * FROM cron WHERE name IN (SELECT name FROM cron_tag WHERE tag = ?4 AND ${range} ORDER BY name LIMIT ?3) ORDER BY name`,
    [...values, tag],
  );
}

function* pageByNext(cursor: string | undefined, limit: number): Body<readonly Row[]> {
  const [, next = "-1", name = ""] = /^(\d{1,16}) (.*)$/s.exec(cursor ?? "-1 ") ?? [];
  if (cursor !== undefined && next === "-1") throw new CursorError(cursor);
  const some = (shared: 0 | 1) =>
    `SELECT * FROM (SELECT * FROM cron WHERE shared = ${shared} AND (next, name) > (?1, ?2) ORDER BY next, name LIMIT ?3) AS of_${shared}`;
  return yield query(`${some(1)} UNION ALL ${some(0)} ORDER BY next, name LIMIT ?3`, [Number(next), name, limit]);
}

/** Plans the next entries after a name again. Returns the last name; undefined at the end. */
function* replanSome(after: string, now: number): Body<string | undefined> {
  const [last] = yield query(
    "SELECT max(name) AS name FROM (SELECT name FROM cron WHERE name > ?1 ORDER BY name LIMIT ?2) AS following",
    [after, REPLANNED_PER_STEP],
  );
  if (last!.name === null) {
    yield query("UPDATE cron_counter SET latest = ?1, changes = changes + 1", [now]);
    return undefined;
  }
  const name = String(last!.name);
  yield query("UPDATE cron SET next = 0 WHERE shared = 1 AND name > ?1 AND name <= ?2", [after, name]);
  return name;
}

function* countChanges(): Body<number> {
  const [row] = yield query("SELECT changes FROM cron_counter");
  return Number(row!.changes);
}

function entriesIn(rows: readonly Row[]): StoredCron[] {
  return (rows as unknown as readonly CronRow[]).map(toStored);
}
