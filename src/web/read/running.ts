/**
 * The running jobs of workers, as rows.
 *
 * @module
 */
import type { RunningJobRecord, WorkerInfo } from "../../store/port/workers.ts";
import type { Services } from "../services.ts";
import { type JobView, viewRunning } from "./job_view.ts";

/** A running job with its worker. */
export interface RunningRow {
  readonly worker: WorkerInfo;
  readonly task: string;
  readonly job: JobView;
}

/** A running job with its worker, as stored. */
type Work = Pick<RunningRow, "worker"> & { readonly job: RunningJobRecord };

/** The most jobs on a page. */
const MAX_RUNNING = 500;

/** A page has the same workers each time, whatever the order in which the store returns them. */
export function byId(workers: readonly WorkerInfo[]): WorkerInfo[] {
  return workers.toSorted((a, b) => a.id < b.id ? -1 : 1);
}

/** Returns the jobs that a worker performs. */
export function workOf(worker: WorkerInfo): Work[] {
  return worker.work.map((job) => ({ worker, job }));
}

/** Returns running jobs as rows, at most {@linkcode MAX_RUNNING}. */
export async function runningRows(
  { slices, mask }: Pick<Services, "slices" | "mask">,
  work: readonly Work[],
): Promise<RunningRow[]> {
  return await slices.map(work.slice(0, MAX_RUNNING), {
    weigh: ({ job }) => job.payload.length,
    map: ({ worker, job }) => ({ worker, task: job.task, job: viewRunning(job, mask) }),
  });
}
