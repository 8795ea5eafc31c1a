/**
 * `jobs doctor --ready`: the health check of containers.
 *
 * @module
 */

import type { WorkerInfo } from "../../store/port/workers.ts";
import type { Store } from "../../store/admin/store.ts";
import { isSuspended } from "../../store/port/paused_queues.ts";

/**
 * Returns why this machine isn't ready; undefined if it is: the store replies, a worker on this machine (in this container) is
 * online and fetches jobs, and not all queues are paused. A quiet worker is shutting down, and so isn't ready.
 */
export async function whyNotReady(
  store: { readonly workers: Pick<Store["workers"], "list">; readonly admin: Pick<Store["admin"], "stats"> },
  hostname: string,
): Promise<string | undefined> {
  const here = (await store.workers.list()).filter((worker) => worker.hostname === hostname);
  if (here.some((worker) => worker.alive && !worker.quiet)) {
    return isSuspended((await store.admin.stats()).queues)
      ? "all queues are paused; jobs resume resumes them"
      : undefined;
  }
  return here.some((worker) => worker.alive)
    ? `${names(here, true)} on "${hostname}" is ${
      here.every(({ alive, stopping }) => stopping || !alive) ? "stopping" : "quiet"
    }: it doesn't fetch jobs`
    : here.length > 0
    ? `${names(here, false)} on "${hostname}" is offline`
    : `no worker on "${hostname}" uses this store`;
}

function names(workers: readonly WorkerInfo[], alive: boolean): string {
  return workers.filter((worker) => worker.alive === alive).map((worker) => worker.id).join(", ");
}
