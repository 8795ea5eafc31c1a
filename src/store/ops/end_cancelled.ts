/**
 * Ends cancelled jobs that no worker runs any more, where no worker will do that.
 *
 * @module
 */
import { Cancelled } from "../../job/errors.ts";
import { parsePayload } from "../../job/job.ts";
import type { DoomedJob, JobStore } from "../port/jobs.ts";
import type { Outcome } from "../port/outcomes.ts";
import type { StepStore } from "../port/steps.ts";
import { CANCELLED_WORKER } from "../port/workers.ts";
import { RECORD_TTL_MS, recordOf } from "./cancel.ts";
import { outcomeOf } from "./outcome.ts";

/** The verbs of a store that ending uses. */
export interface EndStore {
  readonly jobs: Pick<JobStore, "rescue" | "settle">;
  readonly steps: Pick<StepStore, "read">;
}

/** Maximum number of jobs that one step ends. */
const PAGE = 100;

/**
 * Ends the jobs of {@linkcode CANCELLED_WORKER} as a worker ends them: with their records, batches, steps and parents.
 *
 * @param now epoch milliseconds
 */
export async function endCancelled(store: EndStore, now: number): Promise<void> {
  for (;;) {
    // This rescuer has no heartbeats: it finds no other worker offline.
    const { doomed } = await store.jobs.rescue({ worker: CANCELLED_WORKER, limit: PAGE, maxRescues: Infinity });
    const outcomes = await Promise.all(doomed.map((one) => outcome(store, one, now)));
    const { lost } = await store.jobs.settle(CANCELLED_WORKER, outcomes);
    if (lost.length === doomed.length) return;
  }
}

async function outcome(store: EndStore, { token, payload }: DoomedJob, now: number): Promise<Outcome> {
  const job = parsePayload(payload);
  if (job === undefined) return { kind: "bury", token, payload };
  const body = await recordOf(store, job, now);
  const record = { jid: job.jid, ttlMs: RECORD_TTL_MS, body };
  return outcomeOf(token, job, { kind: "ack", as: "cancelled" }, { error: new Cancelled(), record });
}
