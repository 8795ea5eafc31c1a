/**
 * Jobs → their queues or `scheduled`.
 *
 * @module
 */
import { COUNTED_FIELD } from "../../job/batch.ts";
import { getField, setFields, wireTime } from "../../job/raw.ts";
import { STEPS_FIELD } from "../../job/step.ts";
import type { BatchMember, BatchRefusal } from "../port/batches.ts";
import { nameOf } from "../port/groups.ts";
import type { EnqueueResult, NewJob } from "../port/jobs.ts";
import { BatchChanges, refusal } from "../sql/batch_rows.ts";
import { runNow } from "../sql/body.ts";
import type { EntryRow } from "../sql/entries.ts";
import * as jobRows from "../sql/job_rows.ts";
import type { Context } from "./context.ts";
import { takeOut } from "./edit.ts";
import * as newJobs from "./new_jobs.ts";
import * as keys from "./push_keys.ts";

/** See `JobStore.enqueue`. */
export function enqueue(context: Context, jobs: readonly NewJob[]): Promise<EnqueueResult[]> {
  return context.commit.run(() => {
    const now = context.now();
    const accepted: NewJob[] = [];
    const batches = new BatchChanges(newJobs.storing(context));
    let onceKeys = 0;
    // The jobs of one call usually have one batch, which nothing here closes.
    let asked: { readonly member: BatchMember; readonly refusal: BatchRefusal | undefined } | undefined;
    const refusalOf = (member: BatchMember) => {
      if (asked?.member.id !== member.id || asked.member.by !== member.by) {
        asked = { member, refusal: runNow(refusal(member), context.sql) };
      }
      return asked.refusal;
    };
    const results = jobs.map((job): EnqueueResult => {
      // A job that is refused must not use its once key.
      let first = (job.unique || job.batch || job.throttle) && job.once &&
        keys.firstWith(context, job.once, now);
      const batch = first === undefined && job.batch && refusalOf(job.batch);
      if (batch) return { kind: "refused", batch };
      const full = first === undefined && job.throttle && keys.throttled(context, job.throttle, now);
      if (full) return { kind: "throttled", ...full };
      const holder = first === undefined && job.unique && keys.lock(context, job.unique, job.jid, now);
      if (holder && !(job.unique!.replace && replaceWaiting(context, job, holder, now))) {
        return { kind: "duplicate", holder };
      }
      const jid = holder || job.jid;
      if (job.once) {
        onceKeys++;
        first ??= keys.rememberOnce(context, job.once, jid, now);
      }
      if (first !== undefined) return { kind: "existing", ...first };
      if (job.throttle) keys.noteThrottled(context, job.throttle, jid, now);
      if (holder) {
        keys.renewLock(context, job.unique!, now);
        return { kind: "replaced", jid: holder };
      }
      if (isDebounced(job)) {
        const replaced = putOff(context, job, now);
        return replaced === undefined ? { kind: "stored" } : { kind: "replaced", jid: replaced };
      }
      // At once, so that the next one of this call finds it, and after those before it: a queue has the order of the call.
      if (job.unique?.replace) {
        accepted.push(job);
        newJobs.store(context, accepted.splice(0), now);
        return { kind: "stored" };
      }
      if (job.batch !== undefined) batches.note(job.batch.id, undefined, "pending");
      accepted.push(job);
      return { kind: "stored" };
    });
    if (onceKeys > 0) keys.sweepOnce(context, onceKeys, now);
    newJobs.store(context, accepted, now);
    runNow(batches.apply(now), context.sql);
    return results;
  }, { rows: jobs.length });
}

function isDebounced(job: NewJob): job is NewJob & { readonly debounce: NonNullable<NewJob["debounce"]> } {
  return job.debounce !== undefined;
}

/**
 * Puts a job off, in place of the one that waits for the same key; inside a transaction. That job's jid stays, so that each
 * push of a burst returns the jid of the job that runs. A trigger forgets a job that leaves `scheduled` (`schema.sql`).
 *
 * @returns that jid; undefined if none waited
 */
function putOff(
  context: Context,
  job: NewJob & { readonly debounce: NonNullable<NewJob["debounce"]> },
  now: number,
): string | undefined {
  const { sql } = context;
  const { key, waitMs, maxMs = Infinity } = job.debounce;
  const waiting = sql("SELECT job, first FROM debounce WHERE key = ?").get(key);
  // The clock may have been set back.
  const first = Math.min(Number(waiting?.first ?? now), now);
  const due = Math.max(now + 1, Math.ceil(Math.min(now + waitMs, first + maxMs)));
  if (waiting === undefined) {
    const id = newJobs.store(context, [{ ...job, at: due }], now);
    sql("INSERT INTO debounce (key, job, first) VALUES (?, ?, ?)").run(key, id, first);
    return undefined;
  }
  const id = Number(waiting.job);
  const jid = runNow(jobRows.get(id), sql).jid ?? job.jid;
  runNow(jobRows.rewrite(id, setFields(job.payload, { jid: JSON.stringify(jid) })), sql);
  sql("UPDATE member SET at = ? WHERE job = ?").run(due, id);
  sql("UPDATE debounce SET first = ? WHERE key = ?").run(first, key);
  return jid;
}

/** Replaces the waiting job `jid`; inside a transaction. Returns false if it doesn't wait, or may not be replaced. */
function replaceWaiting(context: Context, job: NewJob, jid: string, now: number): boolean {
  const row = context.sql("SELECT * FROM entry WHERE jid = ? AND place IN ('queue', 'scheduled', 'retry')")
    .get(jid) as unknown as EntryRow | undefined;
  if (row === undefined || !isReplaceable(row.payload)) return false;
  const payload = setFields(job.payload, { jid: JSON.stringify(jid) });
  const at = job.delayMs === undefined ? job.at ?? now : now + job.delayMs;
  if (at <= now && row.queue === nameOf(job.queue, job.group)) {
    runNow(jobRows.rewrite(row.id, setFields(payload, { enqueued_at: wireTime(now, context.wire) })), context.sql);
    return true;
  }
  newJobs.store(context, [{ ...job, jid, payload }], now);
  // Not earlier: the new row could get the old row's number.
  takeOut(context, row);
  runNow(jobRows.remove([row.id]), context.sql);
  return true;
}

function isReplaceable(payload: string): boolean {
  if (!payload.includes('"on_duplicate":"replace"') || getField(payload, "on_duplicate") !== "replace") return false;
  return [COUNTED_FIELD, STEPS_FIELD, "parent"].every((name) => getField(payload, name) === undefined);
}
