/**
 * Due jobs → their queues.
 *
 * @module
 */
import { endMembers } from "../../job/event.ts";
import { ByteBudget } from "../port/batch_bytes.ts";
import { type Body, type Engine, query } from "../sql/body.ts";
import { recordEnds } from "../sql/events.ts";
import { trimDead } from "../sql/job_ends.ts";
import * as jobRows from "../sql/job_rows.ts";
import { enqueuedNow, type Promoted, toBack } from "../sql/promote.ts";

/** See `JobStore.promote`. */
export function* promoteDue(engine: Engine, limit: number, now: number): Body<Promoted> {
  // Without the payloads: SQLite would keep all of them in memory while it sorts.
  const due = yield query(
    `SELECT * FROM (SELECT job, at FROM member WHERE place = 'scheduled' AND at <= ?1 ORDER BY at, job LIMIT ?2)
     UNION ALL
     SELECT * FROM (SELECT job, at FROM member WHERE place = 'retry' AND at <= ?1 ORDER BY at, job LIMIT ?2)
     ORDER BY at, job LIMIT ?2`,
    [now, limit],
  );
  const budget = new ByteBudget();
  let moved = 0;
  let buried = 0;
  for (const { job: id } of due) {
    const job = yield* jobRows.get(Number(id));
    if (!budget.spend(job.payload)) break;
    yield* jobRows.removeFromSet(job.id);
    const payload = enqueuedNow(engine, job.payload, now);
    if (payload === undefined) {
      yield* jobRows.addTo("dead", now, job.id);
      yield* recordEnds(engine.dialect, [job.id], endMembers("dead"), now);
      buried++;
    } else {
      yield* toBack(engine, job, payload);
      moved++;
    }
  }
  if (buried > 0) yield* trimDead(engine, now);
  return { moved, buried };
}
