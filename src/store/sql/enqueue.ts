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
import { BatchChanges, refusal } from "./batch_rows.ts";
import { type Body, type Engine, lock, query } from "./body.ts";
import { takeOut } from "./edit.ts";
import { entriesWithJid, rowOf } from "./entries.ts";
import * as jobRows from "./job_rows.ts";
import * as keys from "./push_keys.ts";
import { add, idOf } from "./queue_rows.ts";

const STORED: EnqueueResult = { kind: "stored" };

/** See `JobStore.enqueue`. */
export function* enqueue(engine: Engine, jobs: readonly NewJob[], now: number): Body<EnqueueResult[]> {
  if (!jobs.some(isConditional)) {
    yield* engine.storeJobs(jobs, now);
    return jobs.map(() => STORED);
  }
  yield lock(...lockNames(jobs));
  const results: EnqueueResult[] = [];
  const accepted: NewJob[] = [];
  const batches = new BatchChanges(engine.storeJobs);
  let onceKeys = 0;
  // The jobs of one call usually have one batch, which nothing here closes.
  let asked: { readonly member: BatchMember; readonly refusal: BatchRefusal | undefined } | undefined;
  for (const job of jobs) {
    if (!isConditional(job)) {
      accepted.push(job);
      results.push(STORED);
      continue;
    }
    // A job that is refused must not use its once key.
    let first = (job.unique || job.batch || job.throttle) && job.once
      ? yield* keys.firstWith(job.once, now)
      : undefined;
    if (first === undefined && job.batch) {
      if (asked?.member.id !== job.batch.id || asked.member.by !== job.batch.by) {
        asked = { member: job.batch, refusal: yield* refusal(job.batch) };
      }
      if (asked.refusal !== undefined) {
        results.push({ kind: "refused", batch: asked.refusal });
        continue;
      }
    }
    const full = first === undefined && job.throttle && (yield* keys.throttled(job.throttle, now));
    if (full) {
      results.push({ kind: "throttled", ...full });
      continue;
    }
    const holder = first === undefined && job.unique ? yield* keys.lock(job.unique, job.jid, now) : undefined;
    if (holder !== undefined && !(job.unique!.replace && (yield* replaceWaiting(engine, job, holder, now)))) {
      results.push({ kind: "duplicate", holder });
      continue;
    }
    const jid = holder ?? job.jid;
    if (job.once) {
      onceKeys++;
      first ??= yield* keys.rememberOnce(job.once, jid, now);
    }
    if (first !== undefined) {
      results.push({ kind: "existing", ...first });
      continue;
    }
    if (job.throttle) yield* keys.noteThrottled(job.throttle, jid, now);
    if (holder !== undefined) {
      yield* keys.renewLock(job.unique!, now);
      results.push({ kind: "replaced", jid: holder });
      continue;
    }
    if (isDebounced(job)) {
      const replaced = yield* putOff(engine, job, now);
      results.push(replaced === undefined ? STORED : { kind: "replaced", jid: replaced });
      continue;
    }
    accepted.push(job);
    // At once, so that the next one of this call finds it, and after those before it: a queue has the order of the call.
    if (job.unique?.replace) yield* engine.storeJobs(accepted.splice(0), now);
    else if (job.batch !== undefined) batches.note(job.batch.id, undefined, "pending");
    results.push(STORED);
  }
  if (onceKeys > 0) yield* keys.sweepOnce(engine, onceKeys, now);
  if (accepted.length > 0) yield* engine.storeJobs(accepted, now);
  yield* batches.apply(now);
  return results;
}

/** Returns whether something decides whether the job is stored. */
export function isConditional({ unique, once, throttle, debounce, batch }: NewJob): boolean {
  return unique !== undefined || once !== undefined || throttle !== undefined || debounce !== undefined ||
    batch !== undefined;
}

/** Returns the names of the locks for the keys of jobs. */
function lockNames(jobs: readonly NewJob[]): string[] {
  const names = new Set<string>();
  for (const { unique, once, throttle, debounce } of jobs) {
    if (unique !== undefined) names.add(`unique:${unique.key}`);
    if (once !== undefined) names.add(`once:${once.key}`);
    if (throttle !== undefined) names.add(`throttle:${throttle.key}`);
    if (debounce !== undefined) names.add(`debounce:${debounce.key}`);
  }
  return [...names];
}

function isDebounced(job: NewJob): job is NewJob & { readonly debounce: NonNullable<NewJob["debounce"]> } {
  return job.debounce !== undefined;
}

/**
 * Puts a job off, in place of the one that waits for the same key. That job's jid stays, so that each push of a burst returns the
 * jid of the job that runs. A trigger forgets a job that leaves `scheduled` (`schema.sql`).
 *
 * @returns that jid; undefined if none waited
 */
function* putOff(
  engine: Engine,
  job: NewJob & { readonly debounce: NonNullable<NewJob["debounce"]> },
  now: number,
): Body<string | undefined> {
  const { key, waitMs, maxMs = Infinity } = job.debounce;
  const [waiting] = yield query("SELECT job, first FROM debounce WHERE key = ?1", [key]);
  // The clock may have been set back.
  const first = Math.min(Number(waiting?.first ?? now), now);
  const due = Math.max(now + 1, Math.ceil(Math.min(now + waitMs, first + maxMs)));
  const id = Number(waiting?.job);
  // It may be leaving the set at this moment.
  const isPutOff = waiting !== undefined &&
    (yield query("UPDATE member SET at = ?1 WHERE job = ?2 RETURNING 1", [due, id])).length > 0;
  if (!isPutOff) {
    const created = yield* engine.storeJobs([{ ...job, at: due }], now);
    yield query(
      `INSERT INTO debounce (key, job, first) VALUES (?1, ?2, ?3)
       ON CONFLICT (key) DO UPDATE SET job = excluded.job, first = excluded.first`,
      [key, created, now],
    );
    return undefined;
  }
  const jid = (yield* jobRows.get(id)).jid ?? job.jid;
  yield* jobRows.rewrite(id, setFields(job.payload, { jid: JSON.stringify(jid) }));
  yield query("UPDATE debounce SET first = ?1 WHERE key = ?2", [first, key]);
  return jid;
}

/** Replaces the waiting job `jid`. Returns false if it doesn't wait, or may not be replaced. */
function* replaceWaiting(engine: Engine, job: NewJob, jid: string, now: number): Body<boolean> {
  const [found] = yield query(
    `${entriesWithJid(engine.dialect)} AND place IN ('queue', 'scheduled', 'retry')`,
    [jid],
  );
  const row = found && rowOf(found);
  if (row === undefined || !isReplaceable(row.payload) || !(yield* takeOut(engine, row))) return false;
  const payload = setFields(job.payload, { jid: JSON.stringify(jid) });
  const at = job.delayMs === undefined ? job.at ?? now : now + job.delayMs;
  if (at <= now && row.queue === nameOf(job.queue, job.group)) {
    yield* jobRows.rewrite(row.id, setFields(payload, { enqueued_at: wireTime(now, engine.wire) }));
    yield* add(engine, yield* idOf(row.queue), row.id);
    return true;
  }
  yield* engine.storeJobs([{ ...job, jid, payload }], now);
  // Not earlier: the new row could get the old row's number.
  yield* jobRows.remove([row.id]);
  return true;
}

function isReplaceable(payload: string): boolean {
  if (!payload.includes('"on_duplicate":"replace"') || getField(payload, "on_duplicate") !== "replace") return false;
  return [COUNTED_FIELD, STEPS_FIELD, "parent"].every((name) => getField(payload, name) === undefined);
}
