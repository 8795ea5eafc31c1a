/**
 * When, and by whom, what holds jobs back was set: pauses and limits of queues and of groups.
 *
 * @module
 */
import type { QueueInfo } from "../../store/admin/admin.ts";
import { type AuditEntry, type AuditLog, type LastSet, readEvents } from "../../store/admin/audit.ts";
import type { JobWaits } from "../../store/ops/job_waits.ts";
import type { Entry } from "../../store/port/entries.ts";
import type { GroupInfo } from "../../store/port/groups.ts";
import type { LimitInfo } from "../../store/port/limits.ts";
import { eachGroupTarget, pauseTarget } from "../../store/port/paused_queues.ts";

/** The latest events of the audit log that are searched. */
const MAX_EVENTS = 500;
const PAUSING: readonly string[] = ["pause", "resume"];

/** The last events that set what holds jobs back, as far as the audit log goes back. */
export interface LastSettings {
  /** The last pause of each paused queue, by its name. */
  readonly pauses: ReadonlyMap<string, LastSet>;
  /** The last limit of each queue that is at its limit, by its name. */
  readonly limits: ReadonlyMap<string, LastSet>;
  /** The last pause or limit of the group. */
  readonly groupSet?: LastSet;
}

/** A group, and its queue. */
export interface HeldGroup {
  readonly queue: string;
  readonly group: GroupInfo;
}

/** A queue and its settings. */
type Queue = Pick<QueueInfo, "name" | "paused" | "limit">;

/** Reads the settings that hold jobs back. No round trip if none does. */
export async function readLastSettings(
  log: AuditLog,
  queues: readonly Queue[],
  held?: HeldGroup,
): Promise<LastSettings> {
  const paused = queues.filter((queue) => queue.paused);
  const limited = queues.filter(({ limit }) => isReached(limit));
  const isHeld = held !== undefined && (held.group.paused || isReached(held.group.limit));
  const none = { pauses: new Map(), limits: new Map() };
  if (paused.length === 0 && limited.length === 0 && !isHeld) return none;
  const { events } = await readEvents(log, { limit: MAX_EVENTS });
  const groupSet = isHeld ? lastOfGroup(events, held.queue, held.group) : undefined;
  return {
    pauses: new Map(paused.flatMap(({ name }) => named(name, lastPause(events, pauseTarget(name))))),
    limits: new Map(limited.flatMap(({ name }) => named(name, lastLimit(events, pauseTarget(name))))),
    ...(groupSet !== undefined && { groupSet }),
  };
}

/** Returns the group of a queued job, for {@linkcode readLastSettings}. */
export function heldGroup({ place }: Entry, { group }: Pick<JobWaits, "group">): HeldGroup | undefined {
  return place.in === "queue" && group !== undefined ? { queue: place.queue, group } : undefined;
}

function isReached(limit: LimitInfo | undefined): boolean {
  return limit !== undefined && limit.freeInMs !== 0;
}

function named(name: string, last: LastSet | undefined): [string, LastSet][] {
  return last === undefined ? [] : [[name, last]];
}

function lastOfGroup(events: readonly AuditEntry[], queue: string, group: GroupInfo): LastSet | undefined {
  const target = pauseTarget(queue, group.name);
  if (group.paused) return lastPause(events, target);
  const isShared = !group.isOwn || group.sharesLimit === true;
  return lastLimit(events, isShared ? eachGroupTarget(queue) : target);
}

function lastPause(events: readonly AuditEntry[], target: string): LastSet | undefined {
  const last = events.find((event) => event.target === target && PAUSING.includes(event.action));
  return last?.action === "pause" && last.outcome === undefined ? last : undefined;
}

function lastLimit(events: readonly AuditEntry[], target: string): LastSet | undefined {
  const last = events.find((event) => event.target === target && event.action === "limit");
  return last?.outcome === undefined ? last : undefined;
}
