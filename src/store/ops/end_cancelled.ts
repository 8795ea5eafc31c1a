/**
 * Ends cancelled jobs that no worker runs any more, where no worker will do that.
 *
 * @module
 */
import { membershipOf } from "../../job/batch.ts";
import { Cancelled } from "../../job/errors.ts";
import { parsePayload, releasesOf } from "../../job/job.ts";
import { mayHaveSteps } from "../../job/step.ts";
import type { DoomedJob, JobStore } from "../port/jobs.ts";
import type { Outcome, ParentStep } from "../port/outcomes.ts";
import type { StepStore } from "../port/steps.ts";
import { CANCELLED_WORKER } from "../port/workers.ts";
import { RECORD_TTL_MS, recordOf } from "./cancel.ts";

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
    const outcomes = await Promise.all(doomed.map((one) => outcomeOf(store, one, now)));
    const { lost } = await store.jobs.settle(CANCELLED_WORKER, outcomes);
    if (lost.length === doomed.length) return;
  }
}

async function outcomeOf(store: EndStore, { token, payload: raw }: DoomedJob, now: number): Promise<Outcome> {
  const job = parsePayload(raw);
  const body = job && await recordOf(store, { payload: raw }, job.jid, now);
  if (job === undefined || body === undefined) return { kind: "bury", token, payload: raw };
  const { jid, payload } = job;
  const batch = membershipOf(payload);
  const parent = parentOf(payload.parent, jid);
  return {
    kind: "ack",
    token,
    ...releasesOf(job),
    record: { jid, ttlMs: RECORD_TTL_MS, body },
    ...(mayHaveSteps(payload) && { steps: true, jid }),
    ...(batch?.counted !== undefined && {
      batch: {
        id: batch.id,
        from: batch.counted,
        to: "cancelled",
        ...(batch.node !== undefined && { node: batch.node }),
      },
    }),
    ...(parent !== undefined && { parent }),
  };
}

function parentOf(parent: unknown, child: string): ParentStep | undefined {
  const { jid, step } = (parent ?? {}) as { jid?: unknown; step?: unknown };
  if (typeof jid !== "string" || typeof step !== "string") return undefined;
  const { name, message } = new Cancelled();
  const error = JSON.stringify({ class: name, message });
  return { jid, step, child, state: "failed", outcome: `"error":${error},"final":true` };
}
