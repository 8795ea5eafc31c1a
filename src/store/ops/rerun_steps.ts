/**
 * Runs a job again from one of its steps, for the command line and the dashboard.
 *
 * @module
 */
import type { JobStore } from "../port/jobs.ts";
import type { StepStore } from "../port/steps.ts";

/** The verbs of a store that this operation uses. */
export interface RerunStore {
  readonly jobs: Pick<JobStore, "find" | "edit">;
  readonly steps: Pick<StepStore, "read" | "clear">;
}

/** The effect on a job. */
export interface Rerun {
  /** The number of deleted steps; 0 if the job has no such step, and nothing was changed. */
  readonly cleared: number;
  /** Whether the job was moved to its queue. False if it is queued already, or running: then its next attempt repeats the steps. */
  readonly queued: boolean;
}

/**
 * Deletes a step and all that began after it, and moves a job that sleeps, retries or is dead to its queue. If the process dies
 * in between, the job stays where it was, without these steps.
 */
export async function rerunFrom({ jobs, steps }: RerunStore, jid: string, name: string): Promise<Rerun> {
  const names = (await steps.read(jid)).map((step) => step.name);
  const first = names.indexOf(name);
  const cleared = first < 0 ? 0 : await steps.clear(jid, names.slice(first));
  if (cleared === 0) return { cleared, queued: false };
  const waiting = (await jobs.find([jid])).filter(({ place }) => place.in !== "queue" && place.in !== "running");
  const queued = waiting.length === 0 ? 0 : await jobs.edit(waiting.map(({ ref }) => ref), "requeue");
  return { cleared, queued: queued > 0 };
}
