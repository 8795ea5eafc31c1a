/**
 * `jobs doctor --ready`: whether this machine does its part, for health checks of containers.
 *
 * @module
 */
import { isSuspended } from "../../store/port/paused_queues.ts";
import type { WorkerInfo, WorkerStore } from "../../store/port/workers.ts";
import type { AdminStore } from "../../store/admin/admin.ts";

/**
 * Why this machine is not ready; undefined when it is: the store answers, and a process on this machine (in this
 * container) has said lately that it is alive, and takes jobs, of which not all are paused.
 *
 * Whoever is quiet is on the way out: not ready, and that is all. What a failed check leads to is for the one who asks.
 */
export async function whyNotReady(
  store: { readonly workers: Pick<WorkerStore, "list">; readonly admin: Pick<AdminStore, "stats"> },
  hostname: string,
): Promise<string | undefined> {
  const here = (await store.workers.list()).filter((process) => process.hostname === hostname);
  if (here.some((process) => process.alive && !process.quiet)) {
    return isSuspended((await store.admin.stats()).queues) ? "all queues are paused; jobs resume ends it" : undefined;
  }
  return here.some((process) => process.alive)
    ? `${names(here, true)} on "${hostname}" is quiet: it takes no more jobs`
    : here.length > 0
    ? `${names(here, false)} on "${hostname}" has not said lately that it is alive`
    : `no process on "${hostname}" takes jobs from this store`;
}

function names(processes: readonly WorkerInfo[], alive: boolean): string {
  return processes.filter((process) => process.alive === alive).map((process) => process.identity).join(", ");
}
