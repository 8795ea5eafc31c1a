/**
 * Jobs go to the back of a queue: what is due, and what an operator requeues.
 *
 * @module
 */
import { type FieldTexts, setFields, wireTime } from "../../job/raw.ts";
import { nameIn } from "../port/groups.ts";
import { ByteBudget } from "../port/batch_bytes.ts";
import type { PromoteResult } from "../port/jobs.ts";
import type { Context } from "./context.ts";
import type { JobRow, Jobs } from "./job_rows.ts";
import type { Queues } from "./take.ts";
import type { Sets } from "./sets.ts";

/** Promotes due jobs. */
export class Promotion {
  readonly #context: Context;
  readonly #jobs: Jobs;
  readonly #queues: Queues;
  readonly #sets: Sets;
  /** When the next job was due, as the last `promote` told: an earlier one since then must wake the poller. */
  #told: number | undefined;

  constructor(context: Context, parts: { jobs: Jobs; queues: Queues; sets: Sets }) {
    this.#context = context;
    this.#jobs = parts.jobs;
    this.#queues = parts.queues;
    this.#sets = parts.sets;
  }

  /** See `JobStore.promote`. */
  async promote(limit: number): Promise<PromoteResult> {
    const { read, commit, now } = this.#context;
    // A transaction costs a write to the disk, and most of the time nothing is due.
    const isDue = await read(() => (this.#sets.nextDue() ?? Infinity) <= now());
    const counts = isDue
      ? await commit.run(() => this.#promote(limit), { rows: limit, deferrable: true })
      : { moved: 0, buried: 0 };
    const next = this.#told = await read(() => this.#sets.nextDue());
    return { ...counts, nextInMs: next === undefined ? undefined : Math.max(0, next - now()) };
  }

  /** See `JobStore.waitForDue`. */
  waitForDue(signal: AbortSignal): Promise<void> {
    return this.#context.watch.until(() => (this.#sets.nextDue() ?? Infinity) < (this.#told ?? Infinity), signal);
  }

  /**
   * Makes a job the last of the queue that its payload names; inside a transaction. Where it was, it is still listed: to
   * take it out there is up to the caller.
   *
   * @param changes fields to set on the way
   * @returns false when the payload cannot be read: then nothing was done
   */
  toBack(job: JobRow, changes: FieldTexts, now: number): boolean {
    let payload: string;
    try {
      payload = setFields(job.payload, { ...changes, enqueued_at: wireTime(now, this.#context.wire) });
    } catch {
      return false;
    }
    const id = this.#jobs.create([{ jid: job.jid, payload }]);
    this.#queues.append(this.#queues.idOf(nameIn(payload)), id, id);
    // Not before: the new row could get the old one's number.
    this.#jobs.delete([job.id]);
    return true;
  }

  #promote(limit: number): { moved: number; buried: number } {
    const { sql } = this.#context;
    const now = this.#context.now();
    // Without their payloads: SQLite would keep those of all while it sorts.
    const due = sql(
      `SELECT * FROM (SELECT job, at FROM member WHERE place = 'scheduled' AND at <= ?1 ORDER BY at, job LIMIT ?2)
       UNION ALL
       SELECT * FROM (SELECT job, at FROM member WHERE place = 'retry' AND at <= ?1 ORDER BY at, job LIMIT ?2)
       ORDER BY at, job LIMIT ?2`,
    ).all(now, limit) as { job: number }[];
    const budget = new ByteBudget();
    let moved = 0;
    let buried = 0;
    for (const { job: id } of due) {
      const job = this.#jobs.get(id);
      if (!budget.spend(job.payload)) break;
      moved++;
      this.#sets.remove(job.id);
      if (this.toBack(job, {}, now)) continue;
      this.#sets.add("dead", now, job.id);
      buried++;
    }
    if (buried > 0) this.#sets.trimDead(now);
    return { moved: moved - buried, buried };
  }
}
