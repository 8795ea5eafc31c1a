/**
 * The list of steps that wait for signals.
 *
 * @module
 */
import { ByteBudget } from "../port/batch_bytes.ts";
import { CursorError } from "../port/cursor.ts";
import type { SignalWait, WaitPage, WaitRequest } from "../port/steps.ts";
import { type Body, query, type Row } from "./body.ts";
import { BoundedRead } from "./bounded_read.ts";

/** A wait, and its place in the list. The payload is empty if the job doesn't sleep. */
interface WaitRow extends Omit<SignalWait, "payload"> {
  readonly id: number;
  readonly until: number;
  readonly payload: string;
}

/** See `StepStore.waits`. */
export function* readWaits({ key, cursor, limit }: WaitRequest): Body<WaitPage> {
  const budget = new ByteBudget();
  const read = new BoundedRead<WaitRow>({ limit: limit + 1, budget }, ({ payload }) => payload);
  const from = positionIn(cursor);
  while (read.wanted > 0) read.add(yield* readStep(key, read.last ?? from, read.wanted));
  const shown = read.rows.slice(0, limit);
  const last = shown.at(-1);
  const hasMore = read.rows.length > limit || budget.isSpent;
  const waits = shown.map(({ key, jid, name, record, payload }) => ({
    ...{ key, jid, name, record },
    ...(payload !== "" && { payload }),
  }));
  return { waits, ...(hasMore && last && { next: `${last.until}.${last.id}` }) };
}

/** Those of one key are read in the order of their waits, and need no index for this list alone. The tables of the payload are joined in their order: the other way reads all scheduled jobs. */
function* readStep(key: string | undefined, after: Pick<WaitRow, "until" | "id">, limit: number): Body<readonly Row[]> {
  const [first, order] = key === undefined
    ? ["(step_wait.until, step_wait.id) > (?1, ?2)", "step_wait.until, step_wait.id"]
    : ["step_wait.key = ?1 AND step_wait.id > ?2", "step_wait.id"];
  return yield query(
    `SELECT step_wait.id, until, key, step_wait.jid, step_wait.name, record, coalesce((
       SELECT payload FROM job CROSS JOIN member
       WHERE member.job = job.id AND job.jid = step_wait.jid AND member.place = 'scheduled' LIMIT 1), '') AS payload
     FROM step_wait JOIN step ON step.jid = step_wait.jid AND step.name = step_wait.name
     WHERE ${first} ORDER BY ${order} LIMIT ?3`,
    [key ?? after.until, after.id, limit],
  );
}

function positionIn(cursor: string | undefined): Pick<WaitRow, "until" | "id"> {
  if (cursor === undefined) return { until: -1, id: -1 };
  const [, until, id] = /^(\d{1,15})\.(\d{1,15})$/.exec(cursor) ?? [];
  if (id === undefined) throw new CursorError(cursor);
  return { until: Number(until), id: Number(id) };
}
