/**
 * Processes, as the command line and the dashboard tell of them.
 *
 * @module
 */
import type { WorkerInfo } from "../store/port/workers.ts";

/** Whether it is a process of Sidekiq's: it says nothing of what it has done, and answers nobody here. */
export function isSidekiqWorker({ totals }: Pick<WorkerInfo, "totals">): boolean {
  return totals === undefined;
}

/** What is said of such a process that was asked for a dump: as Sidekiq does on TTIN, it prints it, and sends nothing. */
export function dumpsElsewhere(identity: string): string {
  return `${identity} is a process of Sidekiq's: it was asked, and prints what its threads do in its own log`;
}
