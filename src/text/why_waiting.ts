/**
 * Why a job is not running: what stands between it and a processor, in words. Pure.
 *
 * @module
 */
import { parsePayload } from "../job/job.ts";
import type { Entry } from "../store/admin/admin.ts";
import { type Around, type Blocker, blockersOf } from "../store/ops/blockers.ts";
import { limitUse } from "./limits.ts";
import { relative } from "./times.ts";

/** What is to be known of the surroundings. */
export interface Surroundings extends Around {
  /** Epoch milliseconds. */
  readonly now: number;
}

/** The reasons, the nearest first; empty when it runs. */
export function whyNotRunning(entry: Entry, around: Surroundings): readonly string[] {
  const { place } = entry;
  if (place.in === "leased") return [];
  if (place.in === "dead") return ["It failed for good: retrying it puts it back into its queue."];
  const job = parsePayload(entry.payload);
  const named = job?.payload.queue;
  const queue = place.in === "queue" ? place.queue : typeof named === "string" && named !== "" ? named : "default";
  return [...waiting(entry, around), ...queueReasons(queue, job?.class, place.in === "queue", around)];
}

function waiting({ place, at }: Entry, { now }: Surroundings): string[] {
  if (place.in !== "scheduled" && place.in !== "retry") return [];
  const what = place.in === "retry" ? "its next try" : "its time";
  if (at !== undefined && at > now) return [`It waits for ${what}, ${relative(at, now)}.`];
  return [
    `${what[0]!.toUpperCase()}${what.slice(1)} has come. A process moves it to its queue; if none runs, nobody does.`,
  ];
}

/** @param className whose handler would perform it; undefined when it cannot be read */
function queueReasons(
  queue: string,
  className: string | undefined,
  inQueue: boolean,
  around: Surroundings,
): string[] {
  const obstacles = blockersOf({ queue, class: className }, around)
    // Those who are busy now need not be when its time comes.
    .filter(({ is }) => inQueue || is !== "busy");
  const reasons = obstacles.map((obstacle) => reasonOf(obstacle, queue, className, around));
  if (inQueue && reasons.length === 0) reasons.push("Nothing stands in its way: its turn comes.");
  return reasons;
}

function reasonOf(obstacle: Blocker, queue: string, className: string | undefined, around: Surroundings): string {
  switch (obstacle.is) {
    case "all-paused":
      return `All queues are paused${untilWhen(obstacle.forMs, around)}`;
    case "paused":
      return `Queue ${queue} is paused${untilWhen(obstacle.forMs, around)}`;
    case "limited":
      return `Queue ${queue} is at its limit: ${limitUse(obstacle.limit)}.`;
    case "no-process":
      return "No process runs.";
    case "no-taker":
      return `No process takes queue ${queue}: jobs run -q ${queue} would.`;
    case "quiet":
      return `All processes that take queue ${queue} are quiet.`;
    case "busy":
      return "All processors of the processes that take its queue are busy.";
    case "no-handler":
      return `No process that takes queue ${queue} has a handler for ${className}: it would fail.`;
  }
}

/** ` until 2027-01-31 08:00:00 UTC, in 5m.`; or that somebody has to end it. */
function untilWhen(pausedForMs: number | undefined, { now }: Surroundings): string {
  if (pausedForMs === undefined) return ", until somebody resumes it.";
  const until = new Date(now + pausedForMs).toISOString().slice(0, 19).replace("T", " ");
  return ` until ${until} UTC, ${relative(now + pausedForMs, now)}.`;
}
