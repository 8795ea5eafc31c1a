/**
 * What operators do to jobs: requeue, kill, delete.
 *
 * @module
 */
import { getField } from "../../job/raw.ts";
import type { Edit, Place } from "../admin.ts";
import { type Context, PLACE } from "./context.ts";
import type { Dead } from "./dead.ts";
import type { Locks } from "./locks.ts";
import { type JobRow, placeIs } from "./pages.ts";
import { parseRef } from "./refs.ts";
import type { Sets } from "./sets.ts";

/** Edits jobs, each only where its name says it is. */
export class Editor {
  readonly #context: Context;
  readonly #sets: Sets;
  readonly #locks: Locks;
  readonly #dead: Dead;

  constructor(context: Context, parts: { sets: Sets; locks: Locks; dead: Dead }) {
    this.#context = context;
    this.#sets = parts.sets;
    this.#locks = parts.locks;
    this.#dead = parts.dead;
  }

  /** See `StoreAdmin.edit`. */
  edit(refs: readonly string[], edit: Edit): Promise<number> {
    return this.#context.commit.run(() => {
      const rows = [...new Set(refs)].flatMap((ref) => {
        const parts = parseRef(ref);
        if (parts === undefined || parts.place === PLACE.leased) return [];
        const row = this.#context.sql("SELECT * FROM job WHERE id = ? AND place = ? AND jid IS ?")
          .get(parts.id, parts.place, parts.jid);
        return row ? [row as unknown as JobRow] : [];
      });
      return this.#apply(rows, edit);
    }, refs.length);
  }

  /** See `StoreAdmin.editSome`. */
  editSome(place: Place, edit: Edit, limit: number): Promise<number> {
    return this.#context.commit.run(() => {
      const number = PLACE[place.in];
      // What stays where it is would be found again and again.
      if (number === PLACE.leased || (edit === "kill" && number === PLACE.dead)) return 0;
      if (edit === "requeue" && number === PLACE.queue) return 0;
      // What cannot be requeued stays, and must not stand in the way of what can.
      const readable = edit === "requeue" ? "AND json_valid(payload) AND json_type(payload) = 'object'" : "";
      const rows = this.#context.sql(
        `SELECT * FROM job WHERE ${placeIs(number)} ${place.in === "queue" ? "AND queue = ?" : ""} ${readable}
         ORDER BY ${number >= PLACE.scheduled ? "at, " : ""}id LIMIT ?`,
      ).all(...(place.in === "queue" ? [place.queue] : []), limit) as unknown as JobRow[];
      return this.#apply(rows, edit);
    }, limit);
  }

  #apply(rows: readonly JobRow[], edit: Edit): number {
    const now = this.#context.clock.now();
    let count = 0;
    for (const row of rows) if (this.#applyTo(row, edit, now)) count++;
    if (edit === "kill" && count > 0) this.#dead.trim(now);
    return count;
  }

  #applyTo(row: JobRow, edit: Edit, now: number): boolean {
    const { sql } = this.#context;
    switch (edit) {
      case "delete":
        sql("DELETE FROM job WHERE id = ?").run(row.id);
        this.#locks.releaseOf(row.jid);
        return true;
      case "kill":
        if (row.place === PLACE.dead) return false;
        sql("UPDATE job SET place = 4, at = ? WHERE id = ?").run(Math.round(now), row.id);
        this.#locks.releaseOf(row.jid);
        return true;
      case "requeue":
        return this.#sets.enqueue(row, row.place >= PLACE.retry ? uncounted(row.payload) : {}, now);
    }
  }
}

/** The try to come is not counted: as Sidekiq has it, the count goes down first. */
function uncounted(payload: string): Record<string, string> {
  const count = getField(payload, "retry_count");
  return typeof count === "number" ? { retry_count: String(count - 1) } : {};
}
