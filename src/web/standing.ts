/**
 * Why a job is not running: what stands between it and a processor, in words.
 *
 * @module
 */
import type { ProcessInfo, Stats } from "../store/admin.ts";
import type { Entry } from "../store/admin.ts";
import type { ShownJob } from "./shown.ts";

/** What is to be known of the surroundings. */
export interface Surroundings {
  readonly stats: Stats;
  readonly processes: readonly ProcessInfo[];
  readonly now: number;
  /** `in 5m`. */
  readonly relative: (at: number) => string;
}

/** The reasons, the nearest first; empty when it runs. */
export function whyNotRunning(entry: Entry, job: ShownJob, around: Surroundings): readonly string[] {
  const { place } = entry;
  if (place.in === "leased") return [];
  if (place.in === "dead") return ["It failed for good. “Retry” puts it back into its queue."];
  const waits = waiting(entry, around);
  return [...waits, ...queueReasons(job.queue, place.in === "queue", around)];
}

function waiting({ place, at }: Entry, { now, relative }: Surroundings): string[] {
  if (place.in !== "scheduled" && place.in !== "retry") return [];
  const what = place.in === "retry" ? "its next try" : "its time";
  if (at !== undefined && at > now) return [`It waits for ${what}, ${relative(at)}.`];
  return [
    `${what[0]!.toUpperCase()}${what.slice(1)} has come. A process moves it to its queue; if none runs, nobody does.`,
  ];
}

function queueReasons(queue: string, inQueue: boolean, { stats, processes }: Surroundings): string[] {
  const info = stats.queues.find((one) => one.name === queue);
  const live = processes.filter((process) => process.alive);
  const takers = live.filter((process) => process.queues.includes(queue));
  const awake = takers.filter((process) => !process.quiet);
  const reasons: string[] = [];
  if (info?.paused) reasons.push(`Queue ${queue} is paused.`);
  if (live.length === 0) reasons.push("No process runs.");
  else if (takers.length === 0) reasons.push(`No process takes queue ${queue}: jobs run -q ${queue} would.`);
  else if (awake.length === 0) reasons.push(`All processes that take queue ${queue} are quiet.`);
  else if (inQueue && awake.every((process) => process.busy >= process.concurrency)) {
    reasons.push("All processors of the processes that take its queue are busy.");
  }
  if (inQueue && reasons.length === 0) reasons.push("Nothing stands in its way: its turn comes.");
  return reasons;
}
