/**
 * Debounced jobs: see `Debounce` of the port. A trigger forgets a job that leaves `scheduled` (`schema.sql`).
 *
 * @module
 */
import { setFields } from "../../job/raw.ts";
import type { NewJob } from "../port/jobs.ts";
import type { Context } from "./context.ts";
import * as jobRows from "./job_rows.ts";
import * as newJobs from "./new_jobs.ts";

/**
 * Puts a job off, in place of the one that waits for the same key; inside a transaction. That job's jid stays, so that each
 * push of a burst returns the jid of the job that runs.
 *
 * @returns that jid; undefined if none waited
 */
export function putOff(
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
  const jid = jobRows.get(context, id).jid ?? job.jid;
  jobRows.rewrite(context, id, setFields(job.payload, { jid: JSON.stringify(jid) }));
  sql("UPDATE member SET at = ? WHERE job = ?").run(due, id);
  sql("UPDATE debounce SET first = ? WHERE key = ?").run(first, key);
  return jid;
}
