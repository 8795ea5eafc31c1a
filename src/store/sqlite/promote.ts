/**
 * Jobs → the back of their queues: due ones, and those that an operator requeues.
 *
 * @module
 */
import { type FieldTexts, setFields, wireTime } from "../../job/raw.ts";
import { nameIn } from "../port/groups.ts";
import { ByteBudget } from "../port/batch_bytes.ts";
import type { PromoteResult } from "../port/jobs.ts";
import { runNow } from "../sql/body.ts";
import type { JobRow } from "../sql/job_rows.ts";
import * as jobRows from "../sql/job_rows.ts";
import { idOf } from "../sql/queue_rows.ts";
import type { Context } from "./context.ts";
import { trimDead } from "./job_ends.ts";
import * as queues from "./queues.ts";

/** The verbs about due jobs. */
export interface Promotion {
  /** See `JobStore.promote`. */
  promote(limit: number): Promise<PromoteResult>;
  /** Returns whether a job is due earlier than the last `promote` has returned. */
  isDueEarlier(): boolean;
}

/** Returns the verbs. They share the due time that `promote` has returned. */
export function createPromotion(context: Context): Promotion {
  const { read, commit, now } = context;
  const due = () => nextDue(context);
  let known: number | undefined;
  return {
    async promote(limit) {
      // A transaction costs a write to the disk, and usually no job is due.
      const isDue = await read(() => (due() ?? Infinity) <= now());
      const counts = isDue
        ? await commit.run(() => promoteDue(context, limit), { rows: limit, deferrable: true })
        : { moved: 0, buried: 0 };
      const next = known = await read(due);
      return { ...counts, nextInMs: next === undefined ? undefined : Math.max(0, next - now()) };
    },
    isDueEarlier: () => (due() ?? Infinity) < (known ?? Infinity),
  };
}

/**
 * Moves a job to the back of the queue that its payload names; inside a transaction. The caller removes it from its old
 * place.
 *
 * @param changes fields to set
 * @returns false if the payload is unreadable; the job is then unchanged
 */
export function toBack(context: Context, job: JobRow, changes: FieldTexts, now: number): boolean {
  let payload: string;
  try {
    payload = setFields(job.payload, { ...changes, enqueued_at: wireTime(now, context.wire) });
  } catch {
    return false;
  }
  const id = runNow(jobRows.create({ jid: job.jid, payload }), context.sql);
  queues.append(context, [[runNow(idOf(nameIn(payload)), context.sql), id, id]]);
  // Not earlier: the new row could get the old row's number.
  runNow(jobRows.remove([job.id]), context.sql);
  return true;
}

/** Returns the due time of the next job in `scheduled` or `retry`; undefined if both are empty. */
function nextDue({ sql }: Context): number | undefined {
  const { at } = sql(
    `SELECT min(at) AS at FROM (
       SELECT (SELECT at FROM member WHERE place = 'scheduled' ORDER BY at LIMIT 1) AS at
       UNION ALL
       SELECT (SELECT at FROM member WHERE place = 'retry' ORDER BY at LIMIT 1)
     )`,
  ).get()!;
  return at === null ? undefined : Number(at);
}

function promoteDue(context: Context, limit: number): { moved: number; buried: number } {
  const { sql } = context;
  const now = context.now();
  // Without the payloads: SQLite would keep all of them in memory while it sorts.
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
    const job = runNow(jobRows.get(id), sql);
    if (!budget.spend(job.payload)) break;
    moved++;
    runNow(jobRows.removeFromSet(job.id), sql);
    if (toBack(context, job, {}, now)) continue;
    runNow(jobRows.addTo("dead", now, job.id), sql);
    buried++;
  }
  if (buried > 0) trimDead(context, now);
  return { moved: moved - buried, buried };
}
