/**
 * Jobs → their queues or `scheduled`.
 *
 * @module
 */
import type { EnqueueResult, NewJob } from "../port/jobs.ts";
import type { Context } from "./context.ts";
import * as counters from "./batch_rows.ts";
import { BatchChanges } from "./batch_rows.ts";
import { putOff } from "./debounce.ts";
import * as newJobs from "./new_jobs.ts";
import * as onceKeys from "./once_keys.ts";
import { replaceWaiting } from "./replace.ts";
import * as throttles from "./throttles.ts";
import * as locks from "./unique_locks.ts";

/** See `JobStore.enqueue`. */
export function enqueue(context: Context, jobs: readonly NewJob[]): Promise<EnqueueResult[]> {
  return context.commit.run(() => {
    const now = context.now();
    const accepted: NewJob[] = [];
    const batches = new BatchChanges(context);
    let keys = 0;
    const results = jobs.map((job): EnqueueResult => {
      // A job that is refused must not use its once key.
      let first = (job.unique || job.batch || job.throttle) && job.once &&
        onceKeys.firstWith(context, job.once, now);
      const batch = first === undefined && job.batch && counters.refusal(context, job.batch);
      if (batch) return { kind: "refused", batch };
      const full = first === undefined && job.throttle && throttles.refusal(context, job.throttle, now);
      if (full) return { kind: "throttled", ...full };
      const holder = first === undefined && job.unique && locks.take(context, job.unique, job.jid, now);
      if (holder && !(job.unique!.replace && replaceWaiting(context, job, holder, now))) {
        return { kind: "duplicate", holder };
      }
      const jid = holder || job.jid;
      if (job.once) {
        keys++;
        first ??= onceKeys.remember(context, job.once, jid, now);
      }
      if (first !== undefined) return { kind: "existing", ...first };
      if (job.throttle) throttles.note(context, job.throttle, jid, now);
      if (holder) {
        locks.renew(context, job.unique!, now);
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
    if (keys > 0) onceKeys.sweep(context, keys, now);
    newJobs.store(context, accepted, now);
    batches.apply(now);
    return results;
  }, { rows: jobs.length });
}

function isDebounced(job: NewJob): job is NewJob & { readonly debounce: NonNullable<NewJob["debounce"]> } {
  return job.debounce !== undefined;
}
