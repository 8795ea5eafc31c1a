/**
 * The sets by time: what is due goes to its queue.
 *
 * @module
 */
import { getField, setFields, wireTime } from "../../job/raw.ts";
import type { PromoteResult } from "../store.ts";
import { type Context, PLACE } from "./context.ts";
import type { Dead } from "./dead.ts";
import type { Queues } from "./queues.ts";

/** One row of a set. */
export interface SetRow {
  readonly id: number;
  readonly queue: string;
  readonly payload: string;
}

/** Promotes due jobs. */
export class Sets {
  readonly #context: Context;
  readonly #queues: Queues;
  readonly #dead: Dead;
  /** When the next one was due, as the last `promote` said: an earlier one since then must wake the poller. */
  #promisedHead: number | undefined;

  constructor(context: Context, parts: { queues: Queues; dead: Dead }) {
    this.#context = context;
    this.#queues = parts.queues;
    this.#dead = parts.dead;
  }

  /** See `Store.promote`. */
  async promote(limit: number): Promise<PromoteResult> {
    const { sql, clock } = this.#context;
    if (this.#isNothingDue(clock.now())) return this.#result(0, 0);
    const counts = await this.#context.commit.run(() => {
      const now = clock.now();
      const rows = sql(
        `SELECT id, queue, payload FROM (
           SELECT * FROM (SELECT * FROM job WHERE place = 2 AND at <= ?1 ORDER BY at, id LIMIT ?2)
           UNION ALL
           SELECT * FROM (SELECT * FROM job WHERE place = 3 AND at <= ?1 ORDER BY at, id LIMIT ?2)
         ) ORDER BY at, id LIMIT ?2`,
      ).all(Math.round(now), limit) as unknown as SetRow[];
      const moved = rows.filter((row) => this.enqueue(row, {}, now)).length;
      for (const { id } of rows) {
        // What could not be read is still where it was.
        sql("UPDATE job SET place = 4, at = ? WHERE id = ? AND place IN (2, 3)").run(Math.round(now), id);
      }
      if (moved < rows.length) this.#dead.trim(now);
      return { moved, buried: rows.length - moved };
    }, limit);
    return this.#result(counts.moved, counts.buried);
  }

  /**
   * Moves one row to the back of its queue; inside a transaction.
   *
   * @param changes fields to set on the way
   * @returns false when its payload cannot be read: then it stays
   */
  enqueue(row: SetRow, changes: Readonly<Record<string, string | undefined>>, now: number): boolean {
    const { sql, wire } = this.#context;
    let payload: string;
    try {
      payload = setFields(row.payload, { ...changes, enqueued_at: wireTime(now, wire) });
    } catch {
      return false;
    }
    const named = getField(payload, "queue");
    const queue = typeof named === "string" && named !== "" ? named : row.queue;
    this.#queues.register(queue);
    sql("UPDATE job SET id = (SELECT max(id) + 1 FROM job), place = 0, at = NULL, queue = ?, payload = ? WHERE id = ?")
      .run(queue, payload, row.id);
    return true;
  }

  /** See `Store.waitForDue`. */
  waitForDue(signal: AbortSignal): Promise<void> {
    return this.#context.watch.until(() => {
      const head = this.#head();
      return head !== undefined && (this.#promisedHead === undefined || head < this.#promisedHead);
    }, signal);
  }

  #result(moved: number, buried: number): PromoteResult {
    const head = this.#promisedHead = this.#head();
    const nextInMs = head === undefined ? undefined : Math.max(0, head - this.#context.clock.now());
    return { moved, buried, nextInMs };
  }

  #isNothingDue(now: number): boolean {
    const head = this.#head();
    return head === undefined || head > now;
  }

  /** When the next one is due. */
  #head(): number | undefined {
    const earliest = (place: number) =>
      this.#context.sql("SELECT at FROM job WHERE place = ? AND place >= 2 ORDER BY at, id LIMIT 1").get(place)?.at;
    const times = [earliest(PLACE.scheduled), earliest(PLACE.retry)].filter((at) => at !== undefined);
    return times.length === 0 ? undefined : Math.min(...times.map(Number));
  }
}
