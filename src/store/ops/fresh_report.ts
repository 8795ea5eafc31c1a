/**
 * The report of a worker on its running jobs is as old as its last heartbeat. Someone who looks at one job gets a new one.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import type { WorkerInfo, WorkerStore } from "../port/workers.ts";

/** A younger report is new enough. */
const MAX_AGE_MS = 1_000;
/** A worker that doesn't send a heartbeat within this time is shown as of its last one. */
const MAX_WAIT_MS = 600;
const POLL_INTERVAL_MS = 25;

/** Returns the workers. If the report of the worker with this ID is older than a second, it sends a heartbeat first. */
export async function withFreshReport(
  store: { readonly workers: Pick<WorkerStore, "list" | "send"> },
  clock: Pick<Clock, "now" | "monotonic" | "sleep">,
  { workers, id }: { readonly workers: readonly WorkerInfo[]; readonly id: string | undefined },
): Promise<readonly WorkerInfo[]> {
  const known = workers.find((worker) => worker.id === id);
  // Sidekiq's processes receive only Sidekiq's signals.
  if (known?.heartbeatMs === undefined || !known.alive || known.blocked !== undefined) return workers;
  if (clock.now() - known.heartbeatAt < MAX_AGE_MS || !await store.workers.send(known.id, { verb: "beat" })) {
    return workers;
  }
  for (const until = clock.monotonic() + MAX_WAIT_MS; clock.monotonic() < until;) {
    await clock.sleep(POLL_INTERVAL_MS);
    const fresh = await store.workers.list();
    if (fresh.find((worker) => worker.id === id)?.heartbeatAt !== known.heartbeatAt) return fresh;
  }
  return workers;
}
