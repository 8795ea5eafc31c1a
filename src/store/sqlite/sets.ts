/**
 * The sets by time: jobs wait there until they are due, or stay there when they are dead.
 *
 * @module
 */
import type { SetName } from "../admin/admin.ts";
import { COUNTED_FIELD } from "../../job/batch.ts";
import type { BatchCounters } from "./batch_rows.ts";
import type { Context } from "./context.ts";
import { inParts, type Jobs } from "./job_rows.ts";

/** Dropping more than so many dead jobs at once would keep others waiting; the next burial drops on. */
const MAX_DROPPED = 1_000;

/** Keeps the sets. All of it inside transactions. */
export class Sets {
  readonly #context: Context;
  readonly #jobs: Jobs;
  readonly #batches: BatchCounters;

  constructor(context: Context, jobs: Jobs, batches: BatchCounters) {
    this.#context = context;
    this.#jobs = jobs;
    this.#batches = batches;
  }

  /** Adds a job that is in no other place. */
  add(place: SetName, at: number, job: number): void {
    this.#context.sql("INSERT INTO member (job, place, at) VALUES (?, ?, ?)").run(job, place, Math.round(at));
  }

  /** Takes a job out; it must go to another place, or be deleted, in the same transaction. */
  remove(job: number): void {
    this.#context.sql("DELETE FROM member WHERE job = ?").run(job);
  }

  /** Drops dead jobs that are over the limits of age and number, earliest first. Returns how many. */
  trimDead(now: number): number {
    const { sql, deadMaxAgeMs, deadMaxJobs } = this.#context;
    const old = this.#drop(
      sql("SELECT job FROM member WHERE place = 'dead' AND at < ? ORDER BY at, job LIMIT ?")
        .all(now - deadMaxAgeMs, MAX_DROPPED),
      now,
    );
    const over = this.size("dead") - deadMaxJobs;
    if (over <= 0) return old;
    return old + this.#drop(
      sql("SELECT job FROM member WHERE place = 'dead' ORDER BY at, job LIMIT ?").all(Math.min(over, MAX_DROPPED)),
      now,
    );
  }

  /** How many a set has. */
  size(place: SetName): number {
    return Number(this.#context.sql("SELECT size FROM set_size WHERE place = ?").get(place)!.size);
  }

  /** When the next job is due, in `scheduled` or `retry`. */
  nextDue(): number | undefined {
    const { at } = this.#context.sql(
      `SELECT min(at) AS at FROM (
         SELECT (SELECT at FROM member WHERE place = 'scheduled' ORDER BY at LIMIT 1) AS at
         UNION ALL
         SELECT (SELECT at FROM member WHERE place = 'retry' ORDER BY at LIMIT 1)
       )`,
    ).get()!;
    return at === null ? undefined : Number(at);
  }

  #drop(rows: readonly Record<string, unknown>[], now: number): number {
    const batches = this.#batches.begin();
    const ids = rows.map((row) => row.job as number);
    inParts(ids, "job", (where, values) => this.#context.sql(`DELETE FROM member WHERE ${where}`).run(...values));
    inParts(ids, "id", (where, values) => {
      const members = this.#context.sql(`SELECT payload FROM job WHERE ${where} AND instr(payload, ?) > 0`)
        .all(...values, `"${COUNTED_FIELD}"`);
      for (const { payload } of members) batches.noteEnd(payload as string, "deleted");
      this.#context.sql(`DELETE FROM step WHERE jid IN (SELECT jid FROM job WHERE ${where})`).run(...values);
    });
    this.#jobs.delete(ids);
    batches.apply(now);
    return ids.length;
  }
}
