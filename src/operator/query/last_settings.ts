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
  /** The held ones of the groups that were passed, in that order. */
  readonly heldGroups: readonly HeldGroup[];
}

/** A group, and its queue. */
export interface HeldGroup {
  readonly queue: string;
  readonly group: GroupInfo;
  /** Its last pause or limit, if it is known. */
  readonly set?: LastSet | undefined;
}

/** A queue and its settings. */
type Queue = Pick<QueueInfo, "name" | "paused" | "limit">;

/** Reads the settings that hold jobs back. No round trip if none does. */
export async function readLastSettings(
  log: AuditLog,
  queues: readonly Queue[],
  groups: readonly HeldGroup[] = [],
): Promise<LastSettings> {
  const paused = queues.filter((queue) => queue.paused);
  const limited = queues.filter(({ limit }) => isReached(limit));
  const held = groups.filter(({ group }) => group.paused || isReached(group.limit));
  const none = { pauses: new Map(), limits: new Map(), heldGroups: [] };
  if (paused.length === 0 && limited.length === 0 && held.length === 0) return none;
  const { events } = await readEvents(log, { limit: MAX_EVENTS });
  return {
    pauses: new Map(paused.flatMap(({ name }) => named(name, lastPause(events, pauseTarget(name))))),
    limits: new Map(limited.flatMap(({ name }) => named(name, lastLimit(events, pauseTarget(name))))),
    heldGroups: held.map(({ queue, group }) => ({ queue, group, set: lastOfGroup(events, queue, group) })),
  };
}

/** Reads the settings that hold a job back, with those of its group if it is queued. */
export async function readLastSettingsOf(
  log: AuditLog,
  { place }: Entry,
  { group }: Pick<JobWaits, "group">,
  queues: readonly Queue[],
): Promise<Pick<LastSettings, "pauses" | "limits"> & { readonly groupSet: LastSet | undefined }> {
  const groups = place.in === "queue" && group !== undefined ? [{ queue: place.queue, group }] : [];
  const { pauses, limits, heldGroups } = await readLastSettings(log, queues, groups);
  return { pauses, limits, groupSet: heldGroups[0]?.set };
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
