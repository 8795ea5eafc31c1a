/**
 * Jobs → the back of their queues: due ones, and those that an operator requeues.
 *
 * @module
 */
import { type FieldTexts, setFields, wireTime } from "../../job/raw.ts";
import { isHeld } from "../port/errors.ts";
import { nameIn } from "../port/groups.ts";
import type { PromoteResult } from "../port/jobs.ts";
import { type Body, type Engine, query } from "./body.ts";
import type { JobRow } from "./job_rows.ts";
import * as jobRows from "./job_rows.ts";
import { add, idOf } from "./queue_rows.ts";

/** A promotion that has waited this long for a lock leaves out the jobs that need it. */
const LOCK_TIMEOUT_MS = 500;

/** The verbs about due jobs. */
export interface Promotion {
  /** See `JobStore.promote`. */
  promote(limit: number): Promise<PromoteResult>;
  /** Returns whether a job is due earlier than the last `promote` has returned. */
  isDueEarlier(): Body<boolean>;
  /** Returns the due time that `promote` has returned. */
  knownDue(): number | undefined;
}

/** How many due jobs were moved, and how many buried because they are unreadable. */
export type Promoted = Pick<PromoteResult, "moved" | "buried">;

/**
 * Returns the verbs. They share the due time that `promote` has returned.
 *
 * @param promoteDue moves due jobs, as the store does it best
 */
export function createPromotion(
  { read, write }: Engine,
  promoteDue: (limit: number, now: number, skipsHeld: boolean) => Body<Promoted>,
): Promotion {
  let known: number | undefined;
  const look = () =>
    read(function* (now) {
      return { due: yield* nextDue(), now };
    });
  return {
    async promote(limit) {
      // A transaction costs a write to the disk, and usually no job is due.
      let { due, now } = await look();
      let counts: Promoted = { moved: 0, buried: 0 };
      if (due !== undefined && due <= now) {
        const options = { rows: limit, deferrable: true, lockTimeoutMs: LOCK_TIMEOUT_MS };
        counts = await write((now) => promoteDue(limit, now, false), options).catch((error) => {
          if (!isHeld(error)) throw error;
          // Jobs of other queues don't wait for it.
          return write((now) => promoteDue(limit, now, true), options);
        });
        ({ due, now } = await look());
      }
      known = due;
      return { ...counts, nextInMs: due === undefined ? undefined : Math.max(0, due - now) };
    },
    knownDue: () => known,
    *isDueEarlier() {
      return ((yield* nextDue()) ?? Infinity) < (known ?? Infinity);
    },
  };
}

/**
 * Moves a job to the back of the queue that its payload names. The caller has removed it from its old place.
 *
 * @param payload its new payload
 */
export function* toBack(engine: Engine, job: JobRow, payload: string): Body<void> {
  const id = yield* jobRows.create({ jid: job.jid, payload });
  yield* add(engine, yield* idOf(nameIn(payload)), id);
  // Not earlier: the new row could get the old row's number.
  yield* jobRows.remove([job.id]);
}

/** Returns the payload of a job that goes to the back of a queue; undefined if it is unreadable. */
export function enqueuedNow(
  { wire }: Engine,
  payload: string,
  now: number,
  changes: FieldTexts = {},
): string | undefined {
  try {
    return setFields(payload, { ...changes, enqueued_at: wireTime(now, wire) });
  } catch {
    return undefined;
  }
}

/** Returns the due time of the next job in `scheduled` or `retry`; undefined if both are empty. */
function* nextDue(): Body<number | undefined> {
  const [next] = yield query(
    `SELECT min(at) AS at FROM (
       SELECT (SELECT at FROM member WHERE place = 'scheduled' ORDER BY at LIMIT 1) AS at
       UNION ALL
       SELECT (SELECT at FROM member WHERE place = 'retry' ORDER BY at LIMIT 1)
     ) AS first`,
  );
  return next!.at === null ? undefined : Number(next!.at);
}
