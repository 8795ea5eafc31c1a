/**
 * Groups of queues, in words.
 *
 * @module
 */
import { formatDuration } from "../job/duration.ts";
import { asideIn } from "../job/aside.ts";
import { priorityIn } from "../job/priority.ts";
import { MAX_HELD } from "../store/admin/admin.ts";
import type { GroupInfo, GroupLimit } from "../store/port/groups.ts";
import { number } from "./format.ts";
import type { Columns } from "./columns.ts";
import { limitText, limitUse } from "./limits.ts";
import { shellWord } from "./shell.ts";

/**
 * Returns the name of a group for people: `acme`, `(high priority)` for the jobs of a priority, or `(aside for Mail)` for those that wait for a
 * worker with their class.
 */
export function groupName(group: string): string {
  const aside = asideIn(group);
  if (aside !== undefined) {
    return `${aside.group === undefined ? "" : `${groupName(aside.group)} `}(aside for ${aside.class})`;
  }
  const priority = priorityIn(group);
  return priority === undefined ? group : `(${priority} priority)`;
}

/** `2 at once, 100/1m, weight 3, for 30d`; empty without any part. */
export function groupLimitText(limit: GroupLimit): string {
  return [
    ...[limitText(limit)].filter((text) => text !== ""),
    ...(limit.weight === undefined || limit.weight === 1 ? [] : [`weight ${limit.weight}`]),
    ...(limit.forMs === undefined ? [] : [`for ${formatDuration(limit.forMs)}`]),
  ].join(", ");
}

/** The columns of a list of groups. */
export const GROUP_COLUMNS = {
  group: { text: ({ name }) => groupName(name), is: "whole" },
  queued: { text: ({ size }) => size },
  latency: { text: ({ size, latencyMs }) => size === 0 ? undefined : formatDuration(latencyMs), isAmount: true },
  running: { text: ({ running }) => running },
  "fair share": { text: ({ fairShare }) => shareText(fairShare), isAmount: true },
  limit: { text: (group) => limitOfGroup(group) },
  state: { text: (group) => groupHeldText(group), isState: true },
} as const satisfies Columns<GroupInfo>;

/** Returns the limit that applies to a group, in words. */
export function limitOfGroup({ limit, weight, endsInMs }: GroupInfo): string {
  return groupLimitText({ ...limit, weight, ...(endsInMs !== undefined && { forMs: endsInMs }) });
}

/** Returns the option of a command that changes the limit of a group: it may be that of each group. */
export function limitOption({ name, isOwn, sharesLimit }: GroupInfo): string {
  return isOwn && !sharesLimit ? ` --group ${shellWord(name)}` : " --each-group";
}

/** Why nothing is taken from a group now: `paused for 10m`, `at its limit: 2 of 2 run`; empty if its turn comes. */
export function groupHeldText(
  { limit, paused, pausedForMs }: Pick<GroupInfo, "limit" | "paused" | "pausedForMs">,
): string {
  if (paused) return pausedForMs === undefined ? "paused" : `paused for ${formatDuration(pausedForMs)}`;
  return limit === undefined || limit.freeInMs === 0 ? "" : `at its limit: ${limitUse(limit)}`;
}

/** `25 %`, for a fair share; `<0.1 %`, and empty without one. */
export function shareText(share: number | undefined): string {
  if (share === undefined) return "";
  const percent = share * 100;
  return percent < 0.1 ? "<0.1 %" : `${percent.toFixed(percent < 10 ? 1 : 0)} %`;
}

/** `3 groups held`: at their limit or paused, so that nothing is taken from them. */
export function heldGroupsText(count: number): string {
  const counted = number(count) + (count >= MAX_HELD ? "+" : "");
  return `${counted} ${count === 1 ? "group" : "groups"} held`;
}
