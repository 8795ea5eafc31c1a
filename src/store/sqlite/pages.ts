/**
 * Lists for people: counts, pages, one job, search.
 *
 * @module
 */
import { getField, readWireTime } from "../../job/raw.ts";
import type { Entry, Page, PageRequest, Place, QueueInfo, Stats } from "../admin.ts";
import { type Context, PLACE, SET_NAMES } from "./context.ts";
import type { Processes } from "./processes.ts";
import { makeRef, parseRef } from "./refs.ts";
import type { Totals } from "./totals.ts";

/** A whole row. */
export interface JobRow {
  readonly id: number;
  readonly place: number;
  readonly queue: string;
  readonly jid: string | null;
  readonly at: number | null;
  readonly owner: string | null;
  readonly payload: string;
}

const DEFAULT_PAGE = 25;
/** Searching reads so many rows at a time, and lets others run in between. */
const SEARCH_CHUNK = 20_000;

/** Reads for people. */
export class Pages {
  readonly #context: Context;
  readonly #processes: Processes;
  readonly #totals: Totals;

  constructor(context: Context, parts: { processes: Processes; totals: Totals }) {
    this.#context = context;
    this.#processes = parts.processes;
    this.#totals = parts.totals;
  }

  /** See `StoreAdmin.stats`. */
  stats(): Stats {
    const count = (place: number) =>
      Number(this.#context.sql(`SELECT count(*) AS n FROM job WHERE ${placeIs(place)}`).get()!.n);
    const queues = this.queues();
    return {
      processed: this.#totals.get("processed"),
      failed: this.#totals.get("failed"),
      enqueued: queues.reduce((sum, queue) => sum + queue.size, 0),
      scheduled: count(PLACE.scheduled),
      retry: count(PLACE.retry),
      dead: count(PLACE.dead),
      leased: count(PLACE.leased),
      processes: this.#processes.list().filter((process) => process.alive).length,
      queues,
    };
  }

  /** See `StoreAdmin.queues`. */
  queues(): QueueInfo[] {
    const { sql, clock } = this.#context;
    return sql("SELECT name, paused FROM queue ORDER BY name").all().map((row) => {
      const name = String(row.name);
      const size = Number(sql("SELECT count(*) AS n FROM job WHERE place = 0 AND queue = ?").get(name)!.n);
      const oldest = sql("SELECT payload FROM job WHERE place = 0 AND queue = ? ORDER BY id LIMIT 1").get(name);
      const since = oldest && readWireTime(getField(String(oldest.payload), "enqueued_at"));
      return {
        name,
        size,
        latencyMs: since === undefined ? 0 : Math.max(0, clock.now() - since),
        paused: row.paused === 1,
      };
    });
  }

  /** See `StoreAdmin.page`. */
  page(place: Place, { cursor, limit = DEFAULT_PAGE, reverse = false }: PageRequest = {}): Page {
    const number = PLACE[place.in];
    const bySet = number >= PLACE.scheduled;
    const [at, id] = parseCursor(cursor);
    const direction = reverse ? "DESC" : "ASC";
    const beyond = reverse ? "<" : ">";
    const after = cursor === undefined ? "" : bySet ? `AND (at, id) ${beyond} (?, ?)` : `AND id ${beyond} ?`;
    const rows = this.#context.sql(
      `SELECT * FROM job WHERE ${placeIs(number)} ${number === PLACE.queue ? "AND queue = ?" : ""} ${after}
       ORDER BY ${bySet ? `at ${direction}, ` : ""}id ${direction} LIMIT ?`,
    ).all(
      ...(place.in === "queue" ? [place.queue] : []),
      ...(cursor === undefined ? [] : bySet ? [at, id] : [id]),
      limit + 1,
    ) as unknown as JobRow[];
    const shown = rows.slice(0, limit);
    const last = shown.at(-1);
    return {
      entries: shown.map(toEntry),
      ...(rows.length > limit && last && { next: `${last.at ?? 0}.${last.id}` }),
    };
  }

  /** See `StoreAdmin.find`. */
  find(jid: string): Entry[] {
    const rows = this.#context.sql("SELECT * FROM job WHERE jid = ? ORDER BY id").all(jid);
    return (rows as unknown as JobRow[]).map(toEntry);
  }

  /** See `StoreAdmin.get`. */
  get(ref: string): Entry | undefined {
    const parts = parseRef(ref);
    if (parts === undefined) return undefined;
    const row = this.#context.sql("SELECT * FROM job WHERE id = ? AND place = ? AND jid IS ?")
      .get(parts.id, parts.place, parts.jid);
    return row && toEntry(row as unknown as JobRow);
  }

  /** See `StoreAdmin.search`. */
  async search(text: string, limit: number): Promise<Entry[]> {
    const pattern = `%${text.replace(/[\\%_]/g, "\\$&")}%`;
    const found: Entry[] = [];
    const last = Number(this.#context.sql("SELECT max(id) AS id FROM job").get()!.id ?? 0);
    for (let from = 0; from <= last && found.length < limit; from += SEARCH_CHUNK) {
      const rows = this.#context.sql(
        "SELECT * FROM job WHERE id > ? AND id <= ? AND payload LIKE ? ESCAPE '\\' ORDER BY id LIMIT ?",
      ).all(from, from + SEARCH_CHUNK, pattern, limit - found.length);
      found.push(...(rows as unknown as JobRow[]).map(toEntry));
      await this.#context.turn();
    }
    return found;
  }
}

/** The condition in the words of the partial indexes: otherwise SQLite does not use them. */
export function placeIs(place: number): string {
  return place >= PLACE.scheduled ? `place >= 2 AND place = ${place}` : `place = ${place}`;
}

function toEntry(row: JobRow): Entry {
  const set = SET_NAMES[row.place];
  return {
    ref: makeRef(row),
    place: row.place === PLACE.queue
      ? { in: "queue", queue: row.queue }
      : set === undefined
      ? { in: "leased" }
      : { in: set },
    payload: row.payload,
    ...(row.at !== null && { at: row.at }),
    ...(row.owner !== null && { owner: row.owner }),
  };
}

function parseCursor(cursor: string | undefined): [at: number, id: number] {
  const [at, id] = (cursor ?? "").split(".").map(Number);
  return [Number.isSafeInteger(at) ? at! : 0, Number.isSafeInteger(id) ? id! : 0];
}
