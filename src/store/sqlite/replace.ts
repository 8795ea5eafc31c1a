/**
 * Jobs that a push with the same unique lock replaces while they wait: see `UniqueLock.replace` of the port.
 *
 * @module
 */
import { COUNTED_FIELD } from "../../job/batch.ts";
import { getField, setFields, wireTime } from "../../job/raw.ts";
import { STEPS_FIELD } from "../../job/step.ts";
import { nameOf } from "../port/groups.ts";
import type { NewJob } from "../port/jobs.ts";
import type { Context } from "./context.ts";
import { takeOut } from "./edit.ts";
import type { EntryRow } from "./entries.ts";
import * as jobRows from "./job_rows.ts";
import * as newJobs from "./new_jobs.ts";

/** Replaces the waiting job `jid`; inside a transaction. Returns false if it doesn't wait, or may not be replaced. */
export function replaceWaiting(context: Context, job: NewJob, jid: string, now: number): boolean {
  const row = context.sql("SELECT * FROM entry WHERE jid = ? AND place IN ('queue', 'scheduled', 'retry')")
    .get(jid) as unknown as EntryRow | undefined;
  if (row === undefined || !isReplaceable(row.payload)) return false;
  const payload = setFields(job.payload, { jid: JSON.stringify(jid) });
  const at = job.delayMs === undefined ? job.at ?? now : now + job.delayMs;
  if (at <= now && row.queue === nameOf(job.queue, job.group)) {
    jobRows.rewrite(context, row.id, setFields(payload, { enqueued_at: wireTime(now, context.wire) }));
    return true;
  }
  newJobs.store(context, [{ ...job, jid, payload }], now);
  // Not earlier: the new row could get the old row's number.
  takeOut(context, row);
  jobRows.remove(context, [row.id]);
  return true;
}

function isReplaceable(payload: string): boolean {
  if (!payload.includes('"on_duplicate":"replace"') || getField(payload, "on_duplicate") !== "replace") return false;
  return [COUNTED_FIELD, STEPS_FIELD, "parent"].every((name) => getField(payload, name) === undefined);
}
