/**
 * When, and by whom, what holds jobs back was set: pauses of queues, groups and cron entries, limits of queues and groups.
 *
 * @module
 */
import type { CrontabEntry } from "../../client/crontab_entry.ts";
import { tagsOf } from "../../cron/definition.ts";
import type { QueueInfo } from "../../store/admin/admin.ts";
import { type AuditEntry, type AuditLog, type LastSet, readEvents } from "../../store/admin/audit.ts";
import type { JobWaits } from "../../store/ops/job_waits.ts";
import type { Entry } from "../../store/port/entries.ts";
import type { GroupInfo } from "../../store/port/groups.ts";
import type { LimitInfo } from "../../store/port/limits.ts";
import { eachGroupTarget, pauseTarget } from "../../store/port/paused_queues.ts";
import { filterText } from "../../cron/describe.ts";

/** The latest events of the audit log that are searched. */
const MAX_EVENTS = 500;
const PAUSING: readonly string[] = ["pause", "resume"];
const CRON_PAUSING: readonly string[] = ["cron pause", "cron resume"];

/** The last events that set what holds jobs back, as far as the audit log goes back. */
export interface LastSettings {
  /** The last pause of each paused queue, by its name. */
  readonly pauses: ReadonlyMap<string, LastSet>;
  /** The last limit of each queue that is at its limit, by its name. */
  readonly limits: ReadonlyMap<string, LastSet>;
  /** The held ones of the groups that were passed, in that order. */
  readonly heldGroups: readonly HeldGroup[];
  /** The last pause of each paused cron entry, by its name. */
  readonly cronPauses: ReadonlyMap<string, LastSet>;
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

/** A cron entry, and whether it is paused. */
export type PausableEntry = Pick<CrontabEntry, "name" | "definition" | "state">;

/** Reads the settings that hold jobs back. No round trip if none does. */
export async function readLastSettings(
  log: AuditLog,
  queues: readonly Queue[],
  groups: readonly HeldGroup[] = [],
  entries: readonly PausableEntry[] = [],
): Promise<LastSettings> {
  const paused = queues.filter((queue) => queue.paused);
  const limited = queues.filter(({ limit }) => isReached(limit));
  const held = groups.filter(({ group }) => group.paused || isReached(group.limit));
  const resting = entries.filter(({ state }) => state?.paused);
  const none = { pauses: new Map(), limits: new Map(), heldGroups: [], cronPauses: new Map() };
  if (paused.length === 0 && resting.length === 0 && limited.length === 0 && held.length === 0) return none;
  const { events } = await readEvents(log, { limit: MAX_EVENTS });
  return {
    pauses: new Map(paused.flatMap(({ name }) => named(name, lastPause(events, pauseTarget(name))))),
    limits: new Map(limited.flatMap(({ name }) => named(name, lastLimit(events, pauseTarget(name))))),
    heldGroups: held.map(({ queue, group }) => ({ queue, group, set: lastOfGroup(events, queue, group) })),
    cronPauses: new Map(resting.flatMap((entry) => named(entry.name, lastCronPause(events, entry)))),
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

/** An entry is paused and resumed by its name, or with others by the beginning of their names or a tag. */
function lastCronPause(events: readonly AuditEntry[], { name, definition }: PausableEntry): LastSet | undefined {
  const prefixes = Array.from({ length: name.length + 1 }, (_, length) => name.slice(0, length));
  const tags = [undefined, ...definition === undefined ? [] : tagsOf(definition)];
  const targets = new Set([
    name,
    ...tags.flatMap((tag) => prefixes.map((prefix) => filterText({ prefix, tag }))),
  ].filter(Boolean));
  const last = events.find(({ action, target = "" }) => targets.has(target) && CRON_PAUSING.includes(action));
  return last?.action === "cron pause" && last.outcome === undefined ? last : undefined;
}

function lastPause(events: readonly AuditEntry[], target: string): LastSet | undefined {
  const last = events.find((event) => event.target === target && PAUSING.includes(event.action));
  return last?.action === "pause" && last.outcome === undefined ? last : undefined;
}

function lastLimit(events: readonly AuditEntry[], target: string): LastSet | undefined {
  const last = events.find((event) => event.target === target && event.action === "limit");
  return last?.outcome === undefined ? last : undefined;
}
