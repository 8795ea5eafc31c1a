/**
 * Due jobs → their queues.
 *
 * @module
 */
import { endMembers } from "../../job/event.ts";
import { ByteBudget } from "../port/batch_bytes.ts";
import { nameIn, splitName } from "../port/groups.ts";
import type { NewJob } from "../port/jobs.ts";
import { type Body, type Engine, query } from "../sql/body.ts";
import { recordEnds } from "../sql/events.ts";
import { trimDead } from "../sql/job_ends.ts";
import * as jobRows from "../sql/job_rows.ts";
import { enqueuedNow, type Promoted } from "../sql/promote.ts";
import { array } from "./values.ts";

/** Jobs of a queue that another transaction is creating are due again after this time. */
const HELD_MS = 1_000;

/**
 * See `JobStore.promote`. Skips those that another transaction is moving.
 *
 * @param schema if it is given, jobs are put off of queues that another transaction is creating
 */
export function* promoteDue(
  engine: Engine,
  limit: number,
  now: number,
  schema?: string,
): Body<Promoted> {
  const oldest = (place: string) =>
    `SELECT * FROM (SELECT job, at FROM member WHERE place = '${place}' AND at <= ?1 ORDER BY at, job LIMIT ?2
       FOR UPDATE SKIP LOCKED) AS ${place}`;
  const due = yield query(`${oldest("scheduled")} UNION ALL ${oldest("retry")} ORDER BY at, job LIMIT ?2`, [
    now,
    limit,
  ]);
  if (due.length === 0) return { moved: 0, buried: 0 };
  const wanted = due.map(({ job }) => Number(job));
  const sizes = yield query("SELECT id, octet_length(payload) AS bytes FROM job WHERE id = ANY (?1::bigint[])", [
    array(wanted),
  ]);
  const bytesOf = new Map(sizes.map(({ id, bytes }) => [Number(id), Number(bytes)]));
  let ids = within(wanted, bytesOf);
  if (schema !== undefined) ids = yield* unheld(ids, schema, now);
  yield query("DELETE FROM member WHERE job = ANY (?1::bigint[])", [array(ids)]);
  const rows = yield query("SELECT id, jid, payload FROM job WHERE id = ANY (?1::bigint[])", [array(ids)]);
  const jobs = new Map((rows as unknown as readonly jobRows.JobRow[]).map((row) => [row.id, row]));
  const moved: { readonly name: string; readonly jid: string | null; readonly payload: string }[] = [];
  const gone: number[] = [];
  for (const id of ids) {
    const { jid, payload } = jobs.get(id)!;
    const queued = enqueuedNow(engine, payload, now);
    if (queued === undefined) {
      yield* jobRows.addTo("dead", now, id);
      yield* recordEnds(engine.dialect, [id], endMembers("dead"), now);
    } else {
      moved.push({ name: nameIn(queued), jid, payload: queued });
      gone.push(id);
    }
  }
  if (moved.length > 0) {
    yield* engine.storeJobs(
      moved.map(({ name, jid, payload }): NewJob => ({ jid: jid!, ...splitName(name), payload })),
      now,
    );
    yield* jobRows.remove(gone);
  }
  const buried = ids.length - gone.length;
  if (buried > 0) yield* trimDead(engine, now);
  return { moved: gone.length, buried };
}

/** Puts jobs off whose queues another transaction is creating. Returns the others. */
function* unheld(ids: readonly number[], schema: string, now: number): Body<number[]> {
  const rows = yield query("SELECT id, payload FROM job WHERE id = ANY (?1::bigint[])", [array(ids)]);
  const names = new Map(rows.map(({ id, payload }) => [Number(id), queueIn(payload as string)]));
  const known = [...new Set([...names.values()].filter((name) => name !== undefined))];
  const held = yield query(`SELECT name FROM ${schema}.held_queues(?1::text[]) AS name`, [array(known)]);
  const isHeld = new Set(held.map(({ name }) => name));
  const [later, free] = [true, false].map((wanted) => ids.filter((id) => isHeld.has(names.get(id)) === wanted));
  yield query("UPDATE member SET at = ?1 WHERE job = ANY (?2::bigint[])", [now + HELD_MS, array(later!)]);
  return free!;
}

/** Returns the name of the queue of a payload; undefined if it is unreadable. */
function queueIn(payload: string): string | undefined {
  try {
    return nameIn(payload);
  } catch {
    return undefined;
  }
}

/** Returns the first of the jobs whose payloads fit into a step. */
function within(ids: readonly number[], bytesOf: ReadonlyMap<number, number>): number[] {
  const budget = new ByteBudget();
  const some: number[] = [];
  for (const id of ids) {
    if (!budget.spend({ length: bytesOf.get(id)! })) break;
    some.push(id);
  }
  return some;
}
